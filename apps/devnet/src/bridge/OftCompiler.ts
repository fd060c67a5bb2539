/** The compiler of the tokens' contracts, for a process of its own: it holds up whatever else its process does. */
import { readFileSync } from "node:fs"

import * as Schema from "effect/Schema"
import solc from "solc"

import * as OftContracts from "./OftContracts.ts"

const Bytecode = Schema.Struct({ evm: Schema.Struct({ bytecode: Schema.Struct({ object: Schema.NonEmptyString }) }) })

const decodeOutput = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      errors: Schema.optionalKey(
        Schema.Array(Schema.Struct({ severity: Schema.String, formattedMessage: Schema.String }))
      ),
      contracts: Schema.Struct({ "LocalOft.sol": Schema.Struct({ LocalOft: Bytecode, LocalLockbox: Bytecode }) })
    })
  )
)

/** Compiles them and keeps them, unless they are kept already. Throws with the compiler's message. */
export const run = (): void => {
  if (!OftContracts.isCompiled()) OftContracts.keep(compile())
}

const findImport = (path: string) => ({
  contents: readFileSync(new URL(`node_modules/${path}`, OftContracts.folder), "utf8")
})

const compile = (): OftContracts.OftContracts => {
  const { contracts, errors = [] } = decodeOutput(
    solc.compile(JSON.stringify(OftContracts.input()), { import: findImport })
  )
  const problems = errors.filter(({ severity }) => severity === "error")
  if (problems.length > 0) throw new Error(problems.map(({ formattedMessage }) => formattedMessage).join("\n"))
  const { LocalLockbox, LocalOft } = contracts["LocalOft.sol"]
  return { token: `0x${LocalOft.evm.bytecode.object}`, lockbox: `0x${LocalLockbox.evm.bytecode.object}` }
}
