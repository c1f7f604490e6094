// Package launch reads from the environment what a launcher knows about the ranks of a job: rank,
// size and where the ranks can meet. It reads the variables of mpirun (Open MPI, MPICH, Intel MPI,
// MVAPICH), srun, flux run, PALS, torchrun and indexed jobs of Kubernetes, and those that a person
// sets. A process without any of them is rank 0 of 1. An incomplete set of variables is an error
// that names the missing ones.
//
//	SCHEDGEN_RANK, SCHEDGEN_SIZE   rank and number of ranks; they win over any launcher's
//	SCHEDGEN_COORDINATOR           host:port, an address of rank 0's host with a port that is free there
//	SCHEDGEN_JOB                   a name of the job: ranks of other jobs are turned away; default on several hosts with srun: the step
//	SCHEDGEN_TRANSPORT             auto (the default), hybrid, tcp, mcast, shm or verbs
//	SCHEDGEN_INTERFACE             interface to multicast on, such as eth0
//	SCHEDGEN_DEVICE                RDMA device of verbs, such as mlx5_0 or mlx5_0:1; default the first with an active port
//	SCHEDGEN_KEY_FILE              a file with the key of the job, readable by this user only: no process joins without it (docs/security.md)
//	SCHEDGEN_ENCRYPT               1: frames are confidential, too; needs the key
//
// Package runtime reads SCHEDGEN_RULES, a file of rules that choose algorithms, SCHEDGEN_LEARN, a file
// for what it learns about them, SCHEDGEN_NETWORK, a file with the network of the hosts, and
// SCHEDGEN_JOIN_TIMEOUT, how long the ranks may take to meet. Package pace reads SCHEDGEN_PACE, whether
// to measure what copies cost in the memory that ranks share.
//
// All ranks must have the same values, except SCHEDGEN_RANK and the names of interface and device.
// Ranks that differ in size or transport do not meet, and their error names both.
//
// The launcher determines where the ranks meet. The first line that applies counts:
//
//	SCHEDGEN_COORDINATOR   there
//	PMI_FD, PMI_PORT       rank 0 tells its address through the process manager (PMI-1) of MPICH, MVAPICH or Flux
//	all ranks on one host  at a socket in a private directory for temporary files, named after the job
//	srun                   at the first host of SLURM_STEP_NODELIST; the port is reserved (SLURM_STEP_RESV_PORTS) or follows from the step's number
//	Open MPI               at mpirun's host, if rank 0 is there, at a port that follows from the job's name
//	torch                  at MASTER_ADDR; the port is MASTER_PORT, or follows from it where torchrun's own store listens there
//
// PALS, and Flux without PMI, name no host: jobs on several hosts need SCHEDGEN_COORDINATOR.
//
// Rank 0 listens only at one address: the one that a person has set (SCHEDGEN_COORDINATOR,
// MASTER_ADDR), or the one that the host named by srun, mpirun or PMI has by its own lookup. It
// listens at all its addresses if SCHEDGEN_COORDINATOR has no host (":7777"), if the host name that
// a launcher gives is unknown there or stands for the loopback interface, if Open MPI gives several
// addresses, and in a pod.
//
// Kubernetes gives a pod of an indexed job only its number, JOB_COMPLETION_INDEX. The manifest must
// set
//
//	SCHEDGEN_SIZE          the job's completions, which must all run at once (parallelism)
//	SCHEDGEN_COORDINATOR   JOB-0.SERVICE:PORT: the pods' subdomain is a headless service, which publishes addresses that are not ready
//
// and SCHEDGEN_JOB to a value that no other job of the same name has, such as the label
// batch.kubernetes.io/controller-uid. If a pod's HOSTNAME is JOB-i for number i, every rank knows
// where the others wait, and rank 0 takes eight connections instead of one from every rank.
// examples/kubernetes has a manifest.
//
// A host name may become known late, rank 0 may come last, and a process that dies before all have
// come may be started again. A name that stands for the loopback interface is refused if the
// variables say that there are several hosts.
//
// Open MPI tells ranks where mpirun is, and nothing about each other. mpirun starts rank 0 on its
// own host if it starts any rank there and no map says otherwise; in a batch job it does.
// Otherwise, for example if mpirun runs on a login node, rank 0 says at once that mpirun needs -x
// SCHEDGEN_COORDINATOR=HOST:PORT, with its own host. To exchange addresses through mpirun, a rank
// would need the PMIx protocol, which is specified only by its library, in C.
package launch
