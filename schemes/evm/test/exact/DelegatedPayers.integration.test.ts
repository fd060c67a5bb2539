/** Plain accounts whose first payment by a user operation carries their delegation to code (EIP-7702). */
import { assert, describe, layer } from "@effect/vitest"
import { PaymentPayload, type PaymentRequest } from "@pontage/core"
import * as Effect from "effect/Effect"
import { type Address, parseTransaction } from "viem"
import { toSimple7702SmartAccount } from "viem/account-abstraction"

import { EvmHex, exactEvm } from "../../src/index.ts"
import { EvmTestChain, SmartAccountContracts, SwayingAccount } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import { mintPlain, type Options, ready, receiptOf, schemeWith } from "../EvmTestOperation.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

const serving = Effect.gen(function* () {
  const { options, plain } = yield* ready
  const served = { ...options, userOperations: { delegations: "known" } } as const
  yield* mintPlain(plain, (yield* chain).accounts.payee.address, 1n)
  return { served, plain }
})

const accountOf = Effect.fnUntraced(function* (plain: Address, place: number, implementation?: Address) {
  const { client } = yield* chain
  const owner = yield* Batch.payerAt(place)
  yield* mintPlain(plain, owner.address)
  return yield* Effect.promise(() =>
    toSimple7702SmartAccount({ client, owner, ...(implementation && { implementation }) })
  )
})

/** A payment signed by our own client; `change` may tamper with its payload. */
const requestOf = Effect.fnUntraced(function* (
  served: Options,
  account: Effect.Success<ReturnType<typeof accountOf>>,
  change: (payload: Record<string, unknown>) => unknown = (payload) => payload,
  offered?: Readonly<Record<string, unknown>>
) {
  const { network } = yield* chain
  const schemeFacilitator = yield* schemeWith(served)
  const assets = [{ network, address: served.plain, symbol: "PUSD", decimals: 6 }]
  const client = exactEvm.client({ signer: exactEvm.smartAccount(account), network, assets })
  const requirements = {
    ...(yield* Payment.requirements),
    asset: served.plain,
    extra: { ...schemeFacilitator.extra, ...offered } as Record<string, never>
  }
  const asset = client.asset(requirements) ?? assert.fail("the client knows the token")
  const validBefore = Number(yield* Payment.latestTime) + 60
  const { payload } = yield* client.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
  const json = change(payload as Record<string, unknown>) as typeof payload
  const paymentPayload = PaymentPayload.sealPayload("exact", network, json)
  const made: PaymentRequest = { paymentPayload, paymentRequirements: requirements }
  return made
})

const delegationIn = (payload: Record<string, unknown>) => payload["delegation"] as Record<string, unknown>
const withDelegation = (change: Record<string, unknown>) => (payload: Record<string, unknown>) => ({
  ...payload,
  delegation: { ...delegationIn(payload), ...change }
})

const codeOf = (address: Address) =>
  Effect.flatMap(chain, ({ client }) => Effect.promise(async () => (await client.getCode({ address })) ?? "0x"))

describe("a plain account that does not delegate yet", () => {
  layer(EvmTestChain.layer({ payers: 10 }), { excludeTestServices: true })((it) => {
    it.effect("delegates and pays in one transaction, without coin, and pays again without a delegation", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, client } = yield* chain
        const { plain, served } = yield* serving
        const account = yield* accountOf(plain, 0)
        const schemeFacilitator = yield* schemeWith({ ...served, plain })
        const before = yield* balanceOf(accounts.payee.address, plain)
        const gas: Array<number> = []
        for (const type of ["eip7702", "eip1559"]) {
          const made = yield* requestOf({ ...served, plain }, account)
          const payment = yield* Payment.read(schemeFacilitator, made)
          yield* schemeFacilitator.verify(payment)
          const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
          assert.strictEqual(parseTransaction(EvmHex.fromTrusted(prepared.bytes)).type, type)
          assert.strictEqual((yield* Payment.sendAlone(schemeFacilitator, payment, prepared))._tag, "Settled")
          gas.push(Number((yield* receiptOf(prepared.transaction)).gasUsed))
        }
        assert.strictEqual(yield* balanceOf(accounts.payee.address, plain), before + 20_000n)
        assert.strictEqual(yield* Effect.promise(() => client.getBalance(account)), 0n)
        assert.strictEqual(
          yield* codeOf(account.address),
          `0xef0100${SmartAccountContracts.published.simple7702.slice(2).toLowerCase()}`
        )
        assert.isBelow(gas[0] ?? 0, 120_000)
        assert.isBelow(gas[1] ?? 0, 104_000)
      })
    )

    it.effect("is replaced with its delegation, and settled by a whole facilitator", () =>
      Effect.gen(function* () {
        const { plain, served } = yield* serving
        const account = yield* accountOf(plain, 1)
        const schemeFacilitator = yield* schemeWith({ ...served, plain })
        const payment = yield* Payment.read(schemeFacilitator, yield* requestOf({ ...served, plain }, account))
        yield* schemeFacilitator.verify(payment)
        const { prepared } = yield* Batch.prepare(schemeFacilitator, [payment])
        const number = prepared.slot?.number ?? 0n
        const dearer = yield* Batch.prepare(schemeFacilitator, [payment], { number, percent: 130n, replaced: prepared })
        const { authorizationList } = parseTransaction(EvmHex.fromTrusted(dearer.prepared.bytes))
        assert.deepStrictEqual(
          authorizationList,
          parseTransaction(EvmHex.fromTrusted(prepared.bytes)).authorizationList
        )
        yield* schemeFacilitator.submit(dearer.prepared)
        const { observations } = yield* Batch.included(schemeFacilitator, [payment], prepared, dearer.prepared)
        assert.strictEqual(observations[0]?._tag, "Settled")

        const other = yield* accountOf(plain, 2)
        const { network } = yield* chain
        const { plain: _, ...rest } = served
        const { settle } = yield* Payment.facilitatorOf(rest, [
          { network, address: plain, symbol: "PUSD", decimals: 6 }
        ])
        const made = yield* requestOf({ ...served, plain }, other)
        assert.strictEqual(yield* Payment.outcome(settle(made, Payment.claim("delegated"))), "ok")
      })
    )

    it.effect("is refused by the rule that its delegation breaks, and nothing is sent", () =>
      Effect.gen(function* () {
        const { accounts, chainId, client, deploy } = yield* chain
        const { plain, served } = yield* serving
        const options: Options = { ...served, plain }
        const account = yield* accountOf(plain, 3)
        const stranger = yield* Effect.promise(() =>
          accounts.stranger.signAuthorization({ address: account.authorization?.address ?? plain, chainId, nonce: 0 })
        )
        const hostile = yield* deploy(SwayingAccount, [0n, 0n])
        const toHostile = yield* Effect.promise(
          () =>
            accounts.payers[3]?.signAuthorization({ address: hostile, chainId, nonce: 0 }) ??
            Promise.reject(new Error())
        )
        const anyChain = yield* Effect.promise(
          () =>
            accounts.payers[3]?.signAuthorization({
              address: SmartAccountContracts.published.simple7702,
              chainId: 0,
              nonce: 0
            }) ?? Promise.reject(new Error())
        )
        const signed = ({ r, s, yParity = 0 }: typeof stranger) => ({ r, s, yParity })
        const schemeFacilitator = yield* schemeWith(options)
        const sent = yield* Effect.promise(() => client.getTransactionCount(accounts.signers[0]))
        const cases = [
          ["another key", withDelegation(signed(stranger)), "operation_delegation_signer"],
          ["unknown code", withDelegation({ ...signed(toHostile), address: hostile }), "operation_delegation_code"],
          ["every chain", withDelegation({ ...signed(anyChain), chainId: "0" }), "operation_delegation_chain"],
          ["another chain", withDelegation({ chainId: "1" }), "operation_delegation_chain"],
          ["another nonce", withDelegation({ nonce: "1" }), "operation_delegation_signer"],
          ["a high s", withDelegation({ s: `0x${"f".repeat(64)}` }), "operation_delegation_signer"]
        ] as const
        for (const [name, change, rule] of cases) {
          const outcome = Effect.flatMap(Effect.orDie(requestOf(options, account, change)), (made) =>
            Effect.flatMap(Payment.read(schemeFacilitator, made), (payment) => schemeFacilitator.verify(payment))
          )
          assert.strictEqual(yield* Payment.outcome(outcome), `unsupported_authorization ${rule}`, name)
        }
        const none = yield* schemeWith({ ...options, userOperations: {} })
        const made = yield* requestOf(options, account)
        const unserved = Effect.flatMap(Payment.read(none, made), (payment) => none.verify(payment))
        assert.strictEqual(yield* Payment.outcome(unserved), "unsupported_authorization operation_delegation_unserved")
        const unoffered = yield* Effect.flip(
          requestOf(options, account, undefined, { userOperations: none.extra?.["userOperations"] })
        )
        assert.match(String(unoffered), /takes no delegation to/)
        assert.strictEqual(yield* Effect.promise(() => client.getTransactionCount(accounts.signers[0])), sent)
        assert.strictEqual(yield* codeOf(account.address), "0x")
      })
    )

    it.effect("that sends a transaction of its own first is refused, or fails at a bounded cost and is banned", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, request, send } = yield* chain
        const { plain, served } = yield* serving
        const account = yield* accountOf(plain, 4)
        const schemeFacilitator = yield* schemeWith({ ...served, plain })
        const made = yield* requestOf({ ...served, plain }, account)
        const payment = yield* Payment.read(schemeFacilitator, made)
        yield* schemeFacilitator.verify(payment)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        const before = yield* balanceOf(accounts.payee.address, plain)
        yield* request("anvil_setBalance", [account.address, "0xde0b6b3a7640000"])
        yield* request("anvil_impersonateAccount", [account.address])
        yield* send({ from: account.address, to: account.address, data: "0x", gas: 21_000n })
        const again = Effect.flatMap(Payment.read(schemeFacilitator, made), (one) => schemeFacilitator.verify(one))
        assert.strictEqual(yield* Payment.outcome(again), "unsupported_authorization operation_delegation_nonce")
        const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
        if (end._tag !== "Failed") return assert.fail(end._tag)
        assert.strictEqual(end.error.detail, "transfer_refused")
        assert.isBelow(Number((yield* receiptOf(prepared.transaction)).gasUsed), 90_000)
        assert.strictEqual(yield* balanceOf(accounts.payee.address, plain), before)
        const next = yield* Payment.read(schemeFacilitator, yield* requestOf({ ...served, plain }, account))
        const outcome = yield* Payment.outcome(schemeFacilitator.verify(next))
        assert.strictEqual(outcome, "unsupported_authorization account_banned")
      })
    )
  })
})
