/*
 * For a test file to import: producers then connect as the application role, and workers, verbs and library functions as
 * the worker role, each with exactly the grants that `outbox migrate --roles` prints, and OUTBOX_MIGRATE is off. What
 * neither may do, a test arranges as the owner. The owner may do all that they may, so such a file need not run twice.
 */

// Of this test file only: jest gives each one its own environment.
process.env.OUTBOX_TEST_ROLES = 'on';
