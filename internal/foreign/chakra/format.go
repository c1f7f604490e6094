package chakra

import "google.golang.org/protobuf/encoding/protowire"

// Numbers of fields.
const (
	metadataVersion protowire.Number = 1
	metadataAttr    protowire.Number = 2

	nodeID       protowire.Number = 1
	nodeName     protowire.Number = 2
	nodeType     protowire.Number = 3
	nodeCtrlDeps protowire.Number = 4
	nodeDataDeps protowire.Number = 5
	nodeDuration protowire.Number = 7
	nodeAttr     protowire.Number = 10

	attrName     protowire.Number = 1
	attrInt32    protowire.Number = 7
	attrInt64    protowire.Number = 9
	attrUint32   protowire.Number = 11
	attrUint64   protowire.Number = 13
	attrSint32   protowire.Number = 15
	attrSint64   protowire.Number = 17
	attrFixed32  protowire.Number = 19
	attrFixed64  protowire.Number = 21
	attrSfixed32 protowire.Number = 23
	attrSfixed64 protowire.Number = 25
	attrBool     protowire.Number = 27
	attrString   protowire.Number = 29
)

// Types of nodes.
const (
	typeMetadata = 1
	typeComp     = 4
	typeSend     = 5
	typeRecv     = 6
)

// typeNames are the names of all types of nodes.
var typeNames = [...]string{
	"INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
}

// version is the version of the schema in the metadata.
const version = "0.0.4"

// Names of attributes.
const (
	attrBlockSize = "block_size" // of the metadata, ours

	attrCPU    = "is_cpu_op"
	attrOps    = "num_ops"
	attrTensor = "tensor_size"
	attrSrc    = "comm_src"
	attrDst    = "comm_dst"
	attrSize   = "comm_size"
	attrTag    = "comm_tag"
)

// Bounds of traces.
const (
	maxMessage = 1 << 28 // bytes of a protobuf message
	maxNodes   = 1 << 24 // of all ranks
	maxDeps    = 1 << 26 // dependencies of all ranks
	maxBytes   = 1 << 48 // of a message between ranks
	maxTime    = 1 << 48 // of a computation, ns: some 78 hours
	maxTag     = 1<<31 - 1
)
