import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { concatHex, type Hex, numberToHex } from "viem"

import { ChannelContracts, EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as Voucher from "../../src/voucher/Voucher.ts"
import * as TestEscrow from "./TestEscrow.ts"

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const half = order / 2n
const balance = 1000n

interface Parts {
  readonly r: bigint
  readonly s: bigint
  readonly v: number
}

/** Changes of a valid signature: forms that libraries accept and the contract may not, and noise. */
const changes: ReadonlyArray<(parts: Parts) => Hex> = [
  (parts) => text(parts),
  ({ r, s, v }) => text({ r, s: order - s, v: v === 27 ? 28 : 27 }),
  ({ r, s, v }) => text({ r, s: order - s, v }),
  ({ r, s, v }) => text({ r, s, v: v === 27 ? 28 : 27 }),
  ({ r, s, v }) => text({ r, s, v: v - 27 }),
  ({ r, s }) => text({ r, s, v: 29 }),
  ({ r, s, v }) => text({ r, s: s + 1n, v }),
  ({ r, v }) => text({ r, s: 0n, v }),
  ({ s, v }) => text({ r: 0n, s, v }),
  ({ r, v }) => text({ r, s: half, v }),
  ({ r, v }) => text({ r, s: half + 1n, v }),
  ({ s, v }) => text({ r: order, s, v }),
  (parts) => concatHex([text(parts), "0x00"]),
  (parts) => `0x${text(parts).slice(2, 130)}`,
  ({ r, s, v }) => concatHex([word(r), word(s | (v === 28 ? 1n << 255n : 0n))])
]

const word = (value: bigint): Hex => numberToHex(value, { size: 32 })
const text = ({ r, s, v }: Parts): Hex => concatHex([word(r), word(s), numberToHex(v, { size: 1 })])

const cases = fc.record({
  ceiling: fc.bigInt(1n, balance),
  /** The ceiling in the claim; another one than was signed where it differs. */
  difference: fc.constantFrom(0n, 0n, 0n, 1n),
  change: fc.constantFrom(...changes),
  signer: fc.constantFrom(0, 0, 0, 1)
})

describe("the check of a voucher", () => {
  layer(EvmTestChain.layer({ payers: 2 }), { excludeTestServices: true })((it) => {
    it.effect("accepts exactly the vouchers that the contract claims", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        yield* ChannelContracts.deploy(chain)
        const payers = [TestEscrow.payerOf(chain, 0), TestEscrow.payerOf(chain, 1)]
        const [payer] = chain.accounts.payers
        const [receiver] = chain.accounts.signers
        const config = TestEscrow.configOf(chain, payer)
        const channelId = ChannelConfig.id(chain.chainId, config)
        yield* TestEscrow.open(chain, payer, config, balance)
        const seen = { valid: 0, invalid: 0 }
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(cases, async ({ ceiling, change, difference, signer }) => {
              const account = payers[signer] ?? payer
              const terms = { channelId, maxClaimableAmount: ceiling }
              const signed = await account.signTypedData(Voucher.typedData(chain.chainId, terms))
              const signature = change({
                r: BigInt(signed.slice(0, 66)),
                s: BigInt(`0x${signed.slice(66, 130)}`),
                v: Number(`0x${signed.slice(130)}`)
              })
              const maxClaimableAmount = ceiling - difference
              const voucher = { channelId, maxClaimableAmount, signature }
              const row = {
                voucher: { channel: config, maxClaimableAmount },
                signature,
                totalClaimed: maxClaimableAmount
              }
              if (maxClaimableAmount === 0n) return
              const claimed = await Effect.runPromise(
                TestEscrow.answer(chain, receiver.address, ChannelCall.claim([row]))
              )
              const checked = Voucher.check(chain.chainId, voucher, config.payerAuthorizer)
              assert.strictEqual(checked, claimed === "accepted" ? "valid" : "invalid", `${claimed} ${signature}`)
              seen[checked === "valid" ? "valid" : "invalid"]++
            }),
            { numRuns: 300 }
          )
        )
        assert.isAbove(seen.valid, 0)
        assert.isAbove(seen.invalid, 100)
      })
    )
  })
})
