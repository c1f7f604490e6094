package etcd

// Decode reads a view.
var Decode = decode
