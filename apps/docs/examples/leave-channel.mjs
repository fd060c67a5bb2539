import { readFileSync } from "node:fs"

import { channelEvm, exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"

// The terms of the channel: the `channelConfig` of any payment that was made through it, as JSON.
const channel = JSON.parse(readFileSync(process.argv[2] ?? "channel.json", "utf8"))
const signer = exactEvm.localSigner(process.env.PRIVATE_KEY ?? "")
const rpcUrl = process.env.RPC_URL ?? "https://mainnet.base.org"

// The first call begins the withdrawal, a later one ends it; between them a call says when.
const withdrawal = await Effect.runPromise(channelEvm.withdraw({ signer, rpcUrl, channel }))
const numbers = (_, value) => (typeof value === "bigint" ? value.toString() : value)
console.log(JSON.stringify(withdrawal, numbers))
