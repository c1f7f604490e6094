package file

// Decode reads a view's file.
var Decode = decode
