/** For programs that call `pontage`: the meanings of its exit codes, and the keystores that it reads and writes. */
export * as ExitCode from "./ExitCode.ts"
export * as Keystore from "./wallet/Keystore.ts"
