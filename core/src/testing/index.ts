/**
 * What a scheme or a store must keep, as data without a test runner: run each law in your own tests.
 */
export * as Core from "../index.ts"
