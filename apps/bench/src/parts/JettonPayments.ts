/**
 * Payments on TON: how many are verified in a second of one core without the chain, what one costs its relayer alone and
 * in company, and how many one relayer settles in a second on a local chain whose virtual machine runs in this process.
 */
import {
  Facilitator,
  LaneLeases,
  LocalFacilitator,
  MemoryPaymentStore,
  FacilitatorSchemeRegistry,
  PaymentPayload,
  type PaymentRequest,
  type PaymentRequirements
} from "@pontage/core"
import {
  Ed25519,
  ExactTon,
  exactTon,
  TonAuthorization,
  type TonExpense,
  TonNetwork,
  TonPayer,
  TonWallet
} from "@pontage/ton"
import { type TonTestAccounts, TonTestChain } from "@pontage/ton/testing"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"

import * as CpuTime from "../CpuTime.ts"
import type { Row } from "../Row.ts"

const payers = 150
const alone = 5
const verifyTarget = 3_000
/** Long enough for the compiler to have seen it all. */
const passes = 1_000
const nanotons = 1e9

interface Shop {
  readonly chain: TonTestChain.Shape
  readonly requirements: PaymentRequirements.PaymentRequirements
  readonly service: Facilitator["Service"]
  readonly expenses: Array<TonExpense>
}

const open = Effect.gen(function* () {
  const chain = yield* TonTestChain.make({ payers })
  const { accounts, jetton, network, rpcUrl } = chain
  const assets = [{ network, address: jetton.raw, symbol: jetton.symbol, decimals: jetton.decimals }]
  const expenses: Array<TonExpense> = []
  const onExpense = (expense: TonExpense) => void expenses.push(expense)
  const scheme = yield* exactTon.facilitator({
    signer: accounts.relayers[0],
    rpcUrl,
    network,
    assets,
    onExpense,
    lossBudget: 1_000_000_000_000n
  })
  const context = yield* Layer.build(
    Layer.provide(
      LocalFacilitator.layer({}),
      Layer.mergeAll(
        FacilitatorSchemeRegistry.layer([Effect.succeed(scheme)]),
        MemoryPaymentStore.layer,
        LaneLeases.layerSole
      )
    )
  )
  const requirements: PaymentRequirements.PaymentRequirements = {
    scheme: "exact",
    network: TonNetwork.local,
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: accounts.payee.raw,
    asset: jetton.raw,
    extra: { ...scheme.extra }
  }
  return { chain, requirements, expenses, service: Context.get(context, Facilitator) } satisfies Shop
})

const sign = Effect.fnUntraced(function* ({ chain, requirements }: Shop, signer: TonTestAccounts.TestAccount) {
  const { jetton, network, rpcUrl } = chain
  const assets = [{ network, address: jetton.raw, symbol: jetton.symbol, decimals: jetton.decimals }]
  const client = exactTon.client({ signer, network, rpcUrl, assets })
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die("the payer knows the asset")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  return (yield* client.sign({ requirements, asset, validAfter: 0, validBefore: now + 60, binding: undefined })).payload
})

/** All rows, on a chain of their own. */
export const measure = Effect.fnUntraced(function* (): Effect.fn.Return<ReadonlyArray<Row>, unknown, Scope.Scope> {
  const shop = yield* open
  const payloads = yield* Effect.forEach(shop.chain.accounts.payers, (payer) => sign(shop, payer))
  return [yield* verification(shop, payloads), ...(yield* settlement(shop, payloads))]
})

/** Decodes, reads every cell, checks the signature. */
const verification = Effect.fnUntraced(function* (shop: Shop, payloads: ReadonlyArray<unknown>) {
  const terms = ExactTon.termsOf(shop.requirements)
  const judge = { ed25519: yield* Ed25519.Ed25519, extendedPayers: false, network: TonNetwork.local }
  const accounts = shop.chain.accounts.payers.map(({ publicKey }) => accountOf(publicKey))
  const verify = (index: number): void => {
    const account = accounts[index % payers]
    const payload = Effect.runSync(ExactTon.decodePayload(payloads[index % payers]))
    const read = terms && Result.getOrThrow(TonAuthorization.read(payload, terms))
    const judged = read && account && TonPayer.check(judge, read, account)
    if (judged === undefined || Result.isFailure(judged)) throw new Error("a good payment does not verify")
  }
  const micros = yield* Effect.promise(() => CpuTime.microsOf(passes, verify))
  const note = `target at least ${verifyTarget}`
  const row: Row = { name: `TON: offline verify, ${judge.ed25519.name}`, value: 1e6 / micros, unit: "per CPU s", note }
  return row
})

/** A deployed wallet at its first number. */
const accountOf = (publicKey: Uint8Array) => {
  const { code, data } = TonWallet.w5Init(publicKey, TonNetwork.walletId(TonNetwork.local))
  return {
    state: "active",
    balance: 0n,
    code: code ?? undefined,
    data: data ?? undefined,
    last: { lt: 0n, hash: "" },
    head: { number: 1n, hash: "", time: 0 }
  } as const
}

const settlement = Effect.fnUntraced(function* (shop: Shop, payloads: ReadonlyArray<unknown>) {
  const { expenses, requirements, service } = shop
  const settle = (payload: unknown) => {
    const request: PaymentRequest = {
      paymentPayload: PaymentPayload.sealPayload("exact", TonNetwork.local, payload),
      paymentRequirements: requirements
    }
    return service.settle(request)
  }
  yield* Effect.forEach(payloads.slice(0, alone), settle)
  const single = meanOf(expenses.slice(1))
  const from = expenses.length
  const begun = yield* Clock.currentTimeMillis
  yield* Effect.forEach(payloads.slice(alone), settle, { concurrency: "unbounded" })
  const seconds = ((yield* Clock.currentTimeMillis) - begun) / 1000
  const together = meanOf(expenses.slice(from))
  const note = "the chain's prices of 2025; what came back is taken off"
  const rows: ReadonlyArray<Row> = [
    { name: "TON: a payment alone", value: single * 1000, unit: "mTON", note },
    { name: "TON: a payment in batches of up to 50", value: together * 1000, unit: "mTON", note },
    {
      name: "TON: settled by one relayer",
      value: (payloads.length - alone) / seconds,
      unit: "per s",
      note: "with the chain in the same process"
    }
  ]
  return rows
})

/** In TON. */
const meanOf = (expenses: ReadonlyArray<TonExpense>): number => {
  const sum = expenses.reduce((all, { attached, fees, returned }) => all + attached + fees - returned, 0n)
  return Number(sum) / expenses.length / nanotons
}
