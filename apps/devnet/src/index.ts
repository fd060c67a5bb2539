/**
 * Local chains for trying things out.
 */
export * as DevNet from "./DevNet.ts"
