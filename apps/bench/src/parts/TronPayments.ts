/**
 * The cost of payments on TRON: reading and verifying them offline, settling them on the local node (which runs in this
 * process), and what the chain takes for one, with and without a sponsor of energy. The local chain's token is simpler
 * than mainnet's USDT, whose transfers take 64,285 units of energy.
 */
import {
  Facilitator,
  LocalFacilitator,
  Network,
  PaymentPayload,
  type PaymentRequest,
  type PaymentRequirements
} from "@pontage/core"
import { ExactTron, exactTron, TronAddress, TronHex, TronRpc, TronSignature, TronTransaction } from "@pontage/tron"
import { TronTestAccounts, TronTestChain } from "@pontage/tron/testing"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as CpuTime from "../CpuTime.ts"
import type { Row } from "../Row.ts"

const payers = 100
const warmUp = 100
const count = 400
/** Passes of about 150 ms. */
const decodings = 10_000
const verifications = 75
const sunPerTrx = 1e6

/** All rows, on a chain of their own. */
export const measure = Effect.gen(function* () {
  const chain = yield* TronTestChain.make({ payers })
  const offline = yield* verifying(chain)
  const settled = yield* Effect.scoped(settling(chain))
  const alone = yield* Effect.scoped(costing(chain, "TRON payment, payer pays", false))
  const lent = yield* Effect.scoped(costing(chain, "TRON payment, energy lent", true))
  return [...offline, ...settled, ...alone, ...lent]
})

/** A payment of this payer. */
const pay = Effect.fnUntraced(function* (chain: TronTestChain.Shape, { privateKey }: TronTestAccounts.TestAccount) {
  const { accounts, network, rpcUrl, token } = chain
  const client = exactTron.client({ signer: exactTron.localSigner(privateKey), network, rpcUrl })
  const requirements: PaymentRequirements.PaymentRequirements = {
    scheme: "exact",
    network: Network.make(network),
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: accounts.payee.address,
    asset: token.address
  }
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die(new Error("the local chain's token is not known"))
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const request = { requirements, asset, validAfter: 0, validBefore: now + 80, binding: undefined }
  const { payload } = yield* client.sign(request)
  return { payload, requirements }
})

const requestOf = ({ payload, requirements }: Effect.Success<ReturnType<typeof pay>>): PaymentRequest => ({
  paymentPayload: PaymentPayload.sealPayload("exact", requirements.network, payload),
  paymentRequirements: requirements
})

const facilitatorOf = Effect.fnUntraced(function* (chain: TronTestChain.Shape, isSponsored: boolean) {
  const { accounts, network, rpcUrl } = chain
  const sponsor = isSponsored && { sponsor: { signer: exactTron.localSigner(accounts.signers[0].privateKey) } }
  const schemes = [exactTron.facilitator({ network, rpcUrl, ...sponsor })]
  return Context.get(yield* Layer.build(LocalFacilitator.layerMemory({ schemes })), Facilitator)
})

const verifying = Effect.fnUntraced(function* (chain: TronTestChain.Shape) {
  const { payload } = yield* pay(chain, chain.accounts.payers[0])
  const { from, signedTransaction } = yield* ExactTron.decodePayload(payload)
  const raw = TronHex.toBytes(signedTransaction.raw_data_hex)
  const decode = (): void => void Result.getOrThrow(TronTransaction.decodeTransfer(raw))
  const verify = (): void => {
    const { signedTransaction: read } = Effect.runSync(ExactTron.decodePayload(payload))
    const bytes = TronHex.toBytes(read.raw_data_hex)
    const { owner } = Result.getOrThrow(TronTransaction.decodeTransfer(bytes))
    const signature = TronSignature.fromText(read.signature[0] ?? "") ?? ""
    const signer = TronSignature.recoverAddress(TronTransaction.idBytes(bytes), signature)
    if (signer !== owner || TronAddress.toBase58(owner) !== from) throw new Error("a good payment does not verify")
  }
  const decoding = yield* Effect.promise(() => CpuTime.microsOf(decodings, decode))
  const whole = yield* Effect.promise(() => CpuTime.microsOf(verifications, verify))
  return [
    { name: "TRON strict decode", value: 1e6 / decoding, unit: "per CPU s" },
    { name: "TRON offline verify", value: 1e6 / whole, unit: "per CPU s", note: "JavaScript cryptography" }
  ] satisfies ReadonlyArray<Row>
})

const settling = Effect.fnUntraced(function* (chain: TronTestChain.Shape) {
  const { settle } = yield* facilitatorOf(chain, false)
  const payerOf = (index: number) => chain.accounts.payers[index % payers] ?? chain.accounts.payers[0]
  const requests = yield* Effect.forEach(Array.from({ length: warmUp + count }), (_, index) =>
    Effect.map(pay(chain, payerOf(index)), requestOf)
  )
  const settleAll = (some: ReadonlyArray<PaymentRequest>) =>
    Effect.forEach(some, (request) => settle(request), { concurrency: payers, discard: true })
  yield* settleAll(requests.slice(0, warmUp))
  const start = process.hrtime.bigint()
  yield* settleAll(requests.slice(warmUp))
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  return [
    {
      name: "TRON settled, memory",
      value: count / seconds,
      unit: "per second",
      note: "wall time, node in this process"
    }
  ] satisfies ReadonlyArray<Row>
})

/** The cost of one payment of a new payer: for the payer, for the sponsor, and in energy. The recipient already holds the token. */
const costing = Effect.fnUntraced(function* (chain: TronTestChain.Shape, name: string, isSponsored: boolean) {
  const payer = TronTestAccounts.named(name)
  const { address: sponsor } = chain.accounts.signers[0]
  if (isSponsored) yield* chain.stake(chain.accounts.signers[0], 1_000_000_000_000n)
  yield* chain.fund(payer.address, isSponsored ? 0n : 100_000_000n)
  yield* chain.mint(payer.address, 1_000_000n)
  const { settle } = yield* facilitatorOf(chain, isSponsored)
  const before = { payer: yield* chain.balance(payer.address), sponsor: yield* chain.balance(sponsor) }
  const { transaction } = yield* settle(requestOf(yield* pay(chain, payer)))
  yield* untilReturned(chain, payer)
  const byPayer = trx(before.payer - (yield* chain.balance(payer.address)))
  const bySponsor = trx(before.sponsor - (yield* chain.balance(sponsor)))
  const energy = yield* energyOf(chain, transaction)
  const loan: Row = {
    name: `${name}: sponsor`,
    value: bySponsor,
    unit: "TRX",
    note: "bandwidth of two transactions, the first of a day free"
  }
  return [
    { name: `${name}: payer`, value: byPayer, unit: "TRX", note: "the first of a day: bandwidth is free" },
    ...(isSponsored ? [loan] : []),
    { name: `${name}: energy`, value: energy, unit: "units", note: "of the local chain's token" }
  ] satisfies ReadonlyArray<Row>
})

const trx = (sun: bigint): number => Number(sun) / sunPerTrx

/** Until what was lent to the payer is the sponsor's again. */
const untilReturned = Effect.fnUntraced(function* (
  { accounts, network, rpcUrl }: TronTestChain.Shape,
  payer: TronTestAccounts.TestAccount
) {
  const rpc = yield* TronRpc.make({ url: rpcUrl, network })
  const [from, to] = [accounts.signers[0], payer].map(({ address }) => TronAddress.fromText(address))
  if (from === undefined || to === undefined) return
  yield* Effect.repeat(rpc.delegated(from, to), { until: (lent) => lent === 0n })
})

const energyOf = Effect.fnUntraced(function* ({ rpcUrl }: TronTestChain.Shape, transaction: string) {
  const body = JSON.stringify({ value: transaction })
  const info = yield* Effect.promise(async () =>
    (await fetch(`${rpcUrl}/wallet/gettransactioninfobyid`, { method: "POST", body })).json()
  )
  return Number(info.receipt.energy_usage_total)
})
