import { assert, describe, it } from "@effect/vitest"
import type { SigningRequest } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import { bytesToHex } from "viem"
import { mnemonicToAccount, privateKeyToAccount, toAccount } from "viem/accounts"

import * as Eip3009 from "../src/Eip3009.ts"
import * as EvmAddress from "../src/EvmAddress.ts"
import type { EvmSigner } from "../src/EvmSigner.ts"
import * as ExactEvmClient from "../src/ExactEvmClient.ts"
import { exactEvm } from "../src/index.ts"
import * as KeyAccount from "../src/KeyAccount.ts"
import { EvmTestAccounts } from "../src/testing/index.ts"
import * as CryptoTable from "./CryptoTable.ts"

const address = Schema.decodeSync(EvmAddress.FromText)
const known = mnemonicToAccount(EvmTestAccounts.mnemonic)

/** Signed by a wallet that hashes for itself. */
const arbitrum = {
  data: Eip3009.typedData(
    {
      name: "USD₮0",
      version: "1",
      chainId: 42_161,
      verifyingContract: address("0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9")
    },
    {
      from: address(known.address),
      to: address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
      value: 10_000n,
      validAfter: 0n,
      validBefore: 1_740_672_154n,
      nonce: "0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480"
    }
  ),
  signature:
    "0xf844ae322b054712da5c89f147327721e7a789bc1f9f447689d05a8c4731348a0655690883dc6b85e2e6114ad5f4d3f526bcdd80e3d0f78dcb444a38b44e30c71c"
}

const addresses = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => EvmAddress.fromTail(bytesToHex(bytes)))
const numbers = fc.oneof(fc.bigInt(0n, 2n ** 64n), fc.bigInt(0n, 2n ** 256n - 1n))
const typedData = fc
  .tuple(
    fc.record({
      name: fc.string({ unit: "binary" }),
      version: fc.string({ minLength: 1 }),
      chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      verifyingContract: addresses
    }),
    fc.record({
      from: addresses,
      to: addresses,
      value: numbers,
      validAfter: numbers,
      validBefore: numbers,
      nonce: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytesToHex(bytes))
    })
  )
  .map(([domain, message]) => Eip3009.typedData(domain, message))

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
