import { assert, describe, it } from "@effect/vitest"

import * as TronTransferEvidence from "../../src/evidence/TronTransferEvidence.ts"
import type { Log } from "../../src/node/TronRpc.ts"
import * as TronAddress from "../../src/primitives/TronAddress.ts"
import * as TronHex from "../../src/primitives/TronHex.ts"
import { transfer } from "../TronTransfers.ts"

const topic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
const { amount, owner, to, token } = transfer
const topics = [topic, TronAddress.toWord(owner), TronAddress.toWord(to)]
const good: Log = { address: token, topics, data: TronHex.toWord(amount) }
const approval: Log = {
  ...good,
  topics: ["8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925", ...topics.slice(1)]
}

const proofs: Readonly<Record<string, ReadonlyArray<Log>>> = {
  "its one transfer": [good],
  "its transfer beside other events of the token": [approval, good],
  "its transfer beside another token's": [{ ...good, address: owner }, good]
}

const noProofs: Readonly<Record<string, ReadonlyArray<Log>>> = {
  "no event": [],
  "another event of the token": [approval],
  "another token's transfer": [{ ...good, address: owner }],
  "a transfer of one unit more": [{ ...good, data: TronHex.toWord(amount + 1n) }],
  "a transfer of one unit less": [{ ...good, data: TronHex.toWord(amount - 1n) }],
  "a transfer without an amount": [{ ...good, data: "" }],
  "an amount with appended bytes": [{ ...good, data: `${TronHex.toWord(amount)}00` }],
  "a transfer from another payer": [{ ...good, topics: [topic, TronAddress.toWord(to), TronAddress.toWord(to)] }],
  "a transfer to another recipient": [
    { ...good, topics: [topic, TronAddress.toWord(owner), TronAddress.toWord(owner)] }
  ],
  "a transfer with its amount among the topics": [{ ...good, topics: [...topics, TronHex.toWord(amount)] }],
  "a transfer without a recipient": [{ ...good, topics: topics.slice(0, 2) }],
  "its transfer twice": [good, good],
  "its transfer and a fee": [good, { ...good, data: TronHex.toWord(1n) }]
}

describe("TronTransferEvidence", () => {
  for (const [name, logs] of Object.entries(proofs)) {
    it(`is given by ${name}`, () => assert.isTrue(TronTransferEvidence.isProven(transfer, logs)))
  }

  for (const [name, logs] of Object.entries(noProofs)) {
    it(`is not given by ${name}`, () => assert.isFalse(TronTransferEvidence.isProven(transfer, logs)))
  }
})
