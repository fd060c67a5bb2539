import { assert, describe, it } from "@effect/vitest"
import type { SigningRequest } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { bytesToHex } from "viem"
import { privateKeyToAccount, toAccount } from "viem/accounts"

import type { EvmSigner } from "../src/EvmSigner.ts"
import * as ExactEvmClient from "../src/ExactEvmClient.ts"
import { exactEvm } from "../src/index.ts"
import * as KeyAccount from "../src/KeyAccount.ts"
import * as CryptoTable from "./CryptoTable.ts"
import { arbitrum, known, typedData } from "./TypedPayments.ts"

/** The account's own hashing is out of reach: only `sign` can have signed. */
const unable = () => Promise.reject(new Error("asked for typed data"))
const unasked = () => Promise.reject(new Error("asked for a digest"))

describe("KeyAccount.signerOf", () => {
  it("signs a known payment to the same bytes as a wallet that hashes for itself", async () => {
    const signer = KeyAccount.signerOf({ ...known, signTypedData: unable })
    assert.strictEqual(await signer.signTypedData(arbitrum.data), arbitrum.signature)
    assert.strictEqual(signer.address, known.address)
  })

  it("signs whatever is to be signed as the account's signTypedData does", () =>
    fc.assert(
      fc.asyncProperty(CryptoTable.keys, typedData, async (key, data) => {
        const account = privateKeyToAccount(bytesToHex(CryptoTable.word(key)))
        const signer = KeyAccount.signerOf({ ...account, signTypedData: unable })
        assert.strictEqual(await signer.signTypedData(data), await account.signTypedData(data))
      }),
      { numRuns: 40 }
    ))

  it("leaves to every other signer what it is asked", async () => {
    const account = privateKeyToAccount(bytesToHex(CryptoTable.word(7n)))
    const { address, signTypedData } = account
    const local = { ...account, sign: unasked }
    const others: ReadonlyArray<EvmSigner> = [
      { address, signTypedData },
      toAccount(local),
      { ...account, sign: undefined },
      { ...local, type: "json-rpc" },
      { ...local, type: "smart" },
      { ...local, type: undefined },
      { ...local, source: "custom" },
      { ...local, source: undefined }
    ]
    const expected = await account.signTypedData(arbitrum.data)
    for (const other of others) {
      const signer = KeyAccount.signerOf(other)
      assert.strictEqual(signer, other)
      // One after the other, so that a failure names the signer that made it.
      // oxlint-disable-next-line no-await-in-loop
      assert.strictEqual(await signer.signTypedData(arbitrum.data), expected)
    }
  })
})

const network = "eip155:8453"

const request = (half: ReturnType<typeof exactEvm.client>): SigningRequest => {
  const requirements = {
    scheme: "exact",
    network: half.network,
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
  }
  const asset = half.asset(requirements)
  assert(asset !== undefined)
  const binding = { challenge: "c".repeat(43), salt: "s".repeat(22) }
  return { requirements, asset, validAfter: 0, validBefore: 1_700_000_060, binding }
}

describe("exactEvm.client", () => {
  it.effect("has a key account sign the digest, to the payload that typed data gives", () =>
    Effect.gen(function* () {
      const direct = exactEvm.client({ signer: { ...known, signTypedData: unable }, network })
      const shown = ExactEvmClient.client({ signer: { ...known, sign: unasked }, network })
      assert.deepStrictEqual(yield* direct.sign(request(direct)), yield* shown.sign(request(shown)))
    })
  )

  it.effect("says that a key account did not sign", () =>
    Effect.gen(function* () {
      const half = exactEvm.client({ signer: { ...known, sign: unasked }, network })
      const error = yield* Effect.flip(half.sign(request(half)))
      assert.strictEqual(error._tag, "SigningFailed")
    })
  )
})
