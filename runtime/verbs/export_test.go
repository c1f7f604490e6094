package verbs

// Managed makes the connection manager of RDMA join groups.
func (c *Config) Managed() { c.managed = true }
