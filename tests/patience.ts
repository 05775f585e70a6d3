/**
 * The one limit of all tests: a guard against hanging, of tests, their hooks and what they wait for, milliseconds. A slow machine must
 * not fail a test.
 */
export const patience_ms = 600_000

/** Of a wait within a test: it ends before the test does, so that the failure has what was seen last. */
export const wait_ms = patience_ms - 2_000
