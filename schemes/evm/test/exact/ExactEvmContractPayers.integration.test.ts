/** Payers with code: the token asks them (ERC-1271), so they pay like anybody, and hostile ones burn no more than a cap. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Address } from "viem"

import * as EvmHex from "../../src/primitives/EvmHex.ts"
import { Delegate7702, Erc1271Wallet, EvmTestChain, GasBurner1271, ReturnBomb1271 } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

const Gas = Schema.decodeUnknownSync(Schema.Struct({ gas: Schema.String }))

/** A contract account with money. */
const funded = Effect.fnUntraced(function* (artifact: EvmTestChain.Artifact, args?: ReadonlyArray<unknown>) {
  const { deploy, mint } = yield* chain
  const wallet = yield* deploy(artifact, args)
  yield* mint(wallet, 1_000_000n)
  return wallet
})

const ownedWallet = Effect.flatMap(chain, ({ accounts }) => funded(Erc1271Wallet, [accounts.payers[0].address]))

/** A payer of this place who delegates to a contract (EIP-7702). */
const delegated = Effect.fnUntraced(function* (place: number, to: Address) {
  const { accounts, delegate } = yield* chain
  const account = accounts.payers[place] ?? accounts.payers[0]
  yield* delegate(account, to)
  return { from: account.address, signer: account }
})

/** Settles once through a facilitator and says what the payee got. */
const settled = Effect.fnUntraced(function* (deviation: Payment.Deviation) {
  const { accounts, balanceOf } = yield* chain
  const { settle } = yield* Payment.facilitator({ contractPayers: "any" })
  const before = yield* balanceOf(accounts.payee.address)
  const request = yield* Payment.payment(deviation)
  const outcome = yield* Payment.outcome(settle(request, Payment.claim("contract")))
  return { outcome, received: (yield* balanceOf(accounts.payee.address)) - before }
})

/** Verifies a plain payer's payment, makes the payer delegate, and only then sends. */
const flipped = Effect.fnUntraced(function* (place: number, to: Address) {
  const { accounts, balanceOf, client } = yield* chain
  const schemeFacilitator = yield* Payment.scheme(yield* chain)
  const account = accounts.payers[place] ?? accounts.payers[0]
  const before = yield* balanceOf(accounts.payee.address)
  const payment = yield* Payment.read(
    schemeFacilitator,
    yield* Payment.payment({ from: account.address, signer: account })
  )
  yield* schemeFacilitator.verify(payment)
  const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
  yield* delegated(place, to)
  const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
  const received = (yield* balanceOf(accounts.payee.address)) - before
  if (end._tag !== "Failed") return { outcome: end._tag === "Settled" ? "ok" : end._tag, received }
  const hash = EvmHex.fromTrusted(end.transaction)
  const { gasUsed } = yield* Effect.promise(() => client.getTransactionReceipt({ hash }))
  return { outcome: yield* Payment.outcome(Effect.fail(end.error)), received, gasUsed }
})

describe("a payer with code", () => {
  layer(EvmTestChain.layer({ payers: 6 }), { excludeTestServices: true })((it) => {
    it.effect("a contract account pays by its owner's signature", () =>
      Effect.gen(function* () {
        const from = yield* ownedWallet
        assert.deepStrictEqual(yield* settled({ from }), { outcome: "ok", received: 10_000n })
      })
    )

    it.effect("a contract account pays through the scheme facilitator alone", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf } = yield* chain
        const schemeFacilitator = yield* Payment.scheme(yield* chain, { contractPayers: "any" })
        const before = yield* balanceOf(accounts.payee.address)
        const payment = yield* Payment.read(schemeFacilitator, yield* Payment.payment({ from: yield* ownedWallet }))
        assert.strictEqual(yield* schemeFacilitator.balance(payment), 1_000_000n)
        yield* schemeFacilitator.verify(payment)
        const end = yield* Payment.sendAlone(
          schemeFacilitator,
          payment,
          yield* Payment.prepareAlone(schemeFacilitator, payment)
        )
        assert.strictEqual(end._tag, "Settled")
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before + 10_000n)
      })
    )

    it.effect("a contract account does not pay by a stranger's signature, nor by nonsense", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const from = yield* ownedWallet
        const refused = { outcome: "INVALID_SIGNATURE token_refused", received: 0n }
        assert.deepStrictEqual(yield* settled({ from, signer: accounts.stranger }), refused)
        assert.deepStrictEqual(yield* settled({ from, signature: () => "0x" }), refused)
        assert.deepStrictEqual(yield* settled({ from, signature: () => `0x${"ab".repeat(4096)}` }), refused)
      })
    )

    it.effect("a plain account that delegates goes on paying if its delegate knows its key", () =>
      Effect.gen(function* () {
        const { deploy } = yield* chain
        const payer = yield* delegated(1, yield* deploy(Delegate7702))
        assert.deepStrictEqual(yield* settled(payer), { outcome: "ok", received: 10_000n })
      })
    )

    it.effect("a plain account that delegates to something without ERC-1271 cannot pay", () =>
      Effect.gen(function* () {
        const { token } = yield* chain
        const payer = yield* delegated(2, token.address)
        assert.deepStrictEqual(yield* settled(payer), { outcome: "INVALID_SIGNATURE token_refused", received: 0n })
      })
    )

    for (const [what, artifact] of [
      ["burns all its gas", GasBurner1271],
      ["answers a million bytes", ReturnBomb1271]
    ] as const) {
      it.effect(`one that ${what} is refused, by questions that are all capped in gas`, () =>
        Effect.gen(function* () {
          const proxy = yield* RpcProxy.make
          const from = yield* funded(artifact)
          const { settle } = yield* Payment.facilitator({ rpcUrl: proxy.url, contractPayers: "any" })
          const request = yield* Payment.payment({ from })
          const outcome = yield* Payment.outcome(settle(request, Payment.claim("hostile")))
          assert.match(outcome, /^(INVALID_SIGNATURE token_refused|unsupported_authorization transfer_refused)$/)
          const calls = proxy.requests.filter(({ method }) => method === "eth_call")
          assert.isAtLeast(calls.length, 1)
          for (const { params } of calls) assert.isAtMost(Number(Gas(params[0]).gas), 400_000)
          assert.notInclude(
            proxy.requests.map(({ method }) => method),
            "eth_sendRawTransaction"
          )
        })
      )
    }

    it.effect("one that starts to delegate between verification and inclusion pays if its delegate agrees", () =>
      Effect.gen(function* () {
        const { deploy } = yield* chain
        assert.deepStrictEqual(yield* flipped(3, yield* deploy(Delegate7702)), { outcome: "ok", received: 10_000n })
      })
    )

    it.effect("one that starts to delegate to a gas burner fails within the cap", () =>
      Effect.gen(function* () {
        const { deploy } = yield* chain
        const { gasUsed, ...end } = yield* flipped(4, yield* deploy(GasBurner1271))
        assert.deepStrictEqual(end, { outcome: "INVALID_SIGNATURE token_refused", received: 0n })
        assert.isAtMost(Number(gasUsed), 150_000)
      })
    )
  })
})
