/*
 * Elements and operations that the engine go folds itself: MPI's own types and operations for which
 * it has kernels. goengine/kernels.go has the same numbers. None of these types has gaps.
 */
enum element { INT_1, INT_2, INT_4, INT_8, UINT_1, UINT_2, UINT_4, UINT_8, FLOAT_4, FLOAT_8, COMPLEX_8, COMPLEX_16, BOOLEAN, BYTES, NO_ELEMENT };

enum fold_operation { SUM, PROD, MIN, MAX, LAND, LOR, LXOR, BAND, BOR, BXOR, FOLD_OPERATIONS };

enum kind { SIGNED, UNSIGNED, FLOATING, COMPLEX, TRUTH, BITS };

/* A type or an operation in Open MPI, in MPICH and in the standard ABI; 0: it does not exist. */
struct predefined {
    const char *variable;
    unsigned mpich, standard;
    int is; /* of enum kind, or of enum fold_operation */
};

static const struct predefined predefined_types[] = {
    {"ompi_mpi_int", 0x4c000405, 0x209, SIGNED}, {"ompi_mpi_double", 0x4c00080b, 0x214, FLOATING}, {"ompi_mpi_float", 0x4c00040a, 0x210, FLOATING},
    {"ompi_mpi_long", 0x4c000807, 0x20a, SIGNED}, {"ompi_mpi_integer", 0x4c00041b, 0x219, SIGNED}, {"ompi_mpi_dblprec", 0x4c00081f, 0x21c, FLOATING},
    {"ompi_mpi_real", 0x4c00041c, 0x21a, FLOATING}, {"ompi_mpi_unsigned", 0x4c000406, 0x20d, UNSIGNED},
    {"ompi_mpi_unsigned_long", 0x4c000808, 0x20e, UNSIGNED}, {"ompi_mpi_long_long_int", 0x4c000809, 0x20b, SIGNED},
    {"ompi_mpi_unsigned_long_long", 0x4c000819, 0x20f, UNSIGNED}, {"ompi_mpi_short", 0x4c000203, 0x208, SIGNED},
    {"ompi_mpi_unsigned_short", 0x4c000204, 0x20c, UNSIGNED}, {"ompi_mpi_signed_char", 0x4c000118, 0x244, SIGNED},
    {"ompi_mpi_unsigned_char", 0x4c000102, 0x245, UNSIGNED}, {"ompi_mpi_byte", 0x4c00010d, 0x247, BITS},
    {"ompi_mpi_int8_t", 0x4c000137, 0x240, SIGNED}, {"ompi_mpi_int16_t", 0x4c000238, 0x248, SIGNED},
    {"ompi_mpi_int32_t", 0x4c000439, 0x250, SIGNED}, {"ompi_mpi_int64_t", 0x4c00083a, 0x258, SIGNED},
    {"ompi_mpi_uint8_t", 0x4c00013b, 0x241, UNSIGNED}, {"ompi_mpi_uint16_t", 0x4c00023c, 0x249, UNSIGNED},
    {"ompi_mpi_uint32_t", 0x4c00043d, 0x251, UNSIGNED}, {"ompi_mpi_uint64_t", 0x4c00083e, 0x259, UNSIGNED},
    {"ompi_mpi_aint", 0x4c000843, 0x201, SIGNED}, {"ompi_mpi_offset", 0x4c000844, 0x203, SIGNED}, {"ompi_mpi_count", 0x4c000845, 0x202, SIGNED},
    {"ompi_mpi_c_bool", 0x4c00013f, 0x238, TRUTH}, {"ompi_mpi_c_float_complex", 0x4c000840, 0x212, COMPLEX},
    {"ompi_mpi_c_double_complex", 0x4c001041, 0x216, COMPLEX}, {"ompi_mpi_cplex", 0x4c00081e, 0x21b, COMPLEX},
    {"ompi_mpi_dblcplex", 0x4c001022, 0x21d, COMPLEX}, {"ompi_mpi_cxx_cplex", 0x4c000834, 0x213, COMPLEX},
    {"ompi_mpi_cxx_dblcplex", 0x4c001035, 0x217, COMPLEX}, {"ompi_mpi_integer1", 0x4c00012d, 0x2c1, SIGNED},
    {"ompi_mpi_integer2", 0x4c00022f, 0x2c9, SIGNED}, {"ompi_mpi_integer4", 0x4c000430, 0x2d1, SIGNED},
    {"ompi_mpi_integer8", 0x4c000831, 0x2d9, SIGNED}, {"ompi_mpi_real4", 0x4c000427, 0x2d2, FLOATING},
    {"ompi_mpi_real8", 0x4c000829, 0x2da, FLOATING}, {"ompi_mpi_complex8", 0x4c000828, 0x2db, COMPLEX},
    {"ompi_mpi_complex16", 0x4c00102a, 0x2e3, COMPLEX},
};

static const struct predefined predefined_operations[] = {
    {"ompi_mpi_op_sum", 0x58000003, 0x21, SUM}, {"ompi_mpi_op_prod", 0x58000004, 0x24, PROD}, {"ompi_mpi_op_min", 0x58000002, 0x22, MIN},
    {"ompi_mpi_op_max", 0x58000001, 0x23, MAX}, {"ompi_mpi_op_land", 0x58000005, 0x30, LAND}, {"ompi_mpi_op_lor", 0x58000007, 0x31, LOR},
    {"ompi_mpi_op_lxor", 0x58000009, 0x32, LXOR}, {"ompi_mpi_op_band", 0x58000006, 0x28, BAND}, {"ompi_mpi_op_bor", 0x58000008, 0x29, BOR},
    {"ompi_mpi_op_bxor", 0x5800000a, 0x2a, BXOR},
};

enum { TYPES = sizeof predefined_types / sizeof *predefined_types };

static handle known_types[TYPES];
static enum element known_elements[TYPES];
static handle known_operations[FOLD_OPERATIONS];

static handle predefined_handle(const struct predefined *p)
{
    return mpi.names[0] ? (handle)variable(p->variable) : mpi.handle_size == sizeof(int) ? p->mpich : p->standard;
}

/* The element of a kind and a size. */
static enum element element_of(int kind, int size)
{
    int i;
    for (i = 0; i < 4 && 1 << i != size; i++)
        ;
    if (i == 4)
        return kind == COMPLEX && size == 16 ? COMPLEX_16 : NO_ELEMENT;
    switch (kind) {
    case SIGNED:
        return INT_1 + i;
    case UNSIGNED:
        return UINT_1 + i;
    case FLOATING:
        return size == 4 ? FLOAT_4 : size == 8 ? FLOAT_8 : NO_ELEMENT;
    case COMPLEX:
        return size == 8 ? COMPLEX_8 : NO_ELEMENT;
    case TRUTH:
        return size == 1 ? BOOLEAN : NO_ELEMENT;
    default:
        return size == 1 ? BYTES : NO_ELEMENT;
    }
}

/* Fills in the tables once. */
static void know_types(void)
{
    int i, size;
    for (i = 0; i < TYPES; i++) {
        known_types[i] = predefined_handle(&predefined_types[i]);
        known_elements[i] = known_types[i] && !P_Type_size(known_types[i], &size) ? element_of(predefined_types[i].is, size) : NO_ELEMENT;
    }
    for (i = 0; i < FOLD_OPERATIONS; i++)
        known_operations[predefined_operations[i].is] = predefined_handle(&predefined_operations[i]);
}

/* The number of the kernel for a type and an operation, or 0 if the engine has none. */
static int kernel_of(handle type, handle op)
{
    static __thread handle last_type, last_op;
    static __thread int last;
    int i, k, found = 0;
    if (type == last_type && op == last_op)
        return last;
    for (i = 0; i < TYPES && known_types[i] != type; i++)
        ;
    for (k = 0; k < FOLD_OPERATIONS && known_operations[k] != op; k++)
        ;
    if (i < TYPES && k < FOLD_OPERATIONS && type && op) {
        enum element e = known_elements[i];
        if (e <= UINT_8 || (e <= FLOAT_8 && k <= MAX) || (e <= COMPLEX_16 && k <= PROD) || (e == BOOLEAN && k >= LAND && k <= LXOR))
            found = 1 + FOLD_OPERATIONS * (int)e + k;
        else if (e == BYTES && k >= BAND)
            found = 1 + FOLD_OPERATIONS * UINT_1 + k;
    }
    last_type = type;
    last_op = op;
    return last = found;
}
