/** Our shop that sells by channels, with our facilitator and its ledger in its process, and the published client's buyers. */
import { createServer } from "node:http"

import { assert } from "@effect/vitest"
import { Router } from "@koa/router"
import { ChannelStore, Facilitator, LocalFacilitator, MemoryChannelStore } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { listen } from "@pontage/devnet/LoopbackServer"
import { ChannelCall, ChannelConfig, ChannelContract, channelEvm, EvmAddress } from "@pontage/evm"
import { ChannelContracts } from "@pontage/evm/testing"
import { paymentMiddleware } from "@pontage/koa"
import {
  BatchSettlementEvmScheme as ChannelClient,
  type BatchSettlementEvmSchemeOptions
} from "@x402/evm/batch-settlement/client"
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from "@x402/fetch"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import Koa from "koa"
import { createPublicClient, type Hex, http } from "viem"
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from "viem/accounts"

import * as FacilitatorPlace from "./FacilitatorPlace.ts"

/** The price of a request in the token's smallest unit. */
export const price = 1_000n

/** A chain with the contract of channels, which the tests of a file share. */
export class Chain extends Context.Service<Chain, BaseSepoliaChain.BaseSepoliaChain>()("Chain") {}

/** Runs the chain. */
export const chainLayer = Layer.effect(
  Chain,
  Effect.tap(BaseSepoliaChain.make, ({ node }) => ChannelContracts.deploy(node))
)

interface Terms {
  /** Unclaimed money that is claimed at once. */
  readonly claimAt: bigint
  /** The deposit that the offers ask for; default 100 requests. */
  readonly deposit?: bigint
  readonly watch?: Exclude<LocalFacilitator.Options["channels"], (network: string) => unknown>
  /** The least price of the network; default none. */
  readonly minimumPrice?: string
  readonly gasCeilings?: LocalFacilitator.Options["gasCeilings"]
  /** Changes the facilitator that the shop asks. */
  readonly around?: (facilitator: Facilitator["Service"]) => Facilitator["Service"]
  /** The ledger, default a new one, and the payee, default a new one. */
  readonly ledger?: ChannelStore["Service"]
  readonly payee?: Hex
  /** Runs inside the handler of the dear report. */
  readonly meanwhile?: () => Promise<void>
}

/**
 * Our shop with everything in its process. A handler fails for `?fail`, the dear one always; the stream writes one part and stays open. The
 * metered report is charged the price in its query.
 */
export const opened = Effect.fnUntraced(function* (terms: Terms) {
  const { claimAt, deposit = 100n * price, gasCeilings, ledger = MemoryChannelStore.make(), watch = {} } = terms
  const least = { minimumDeposit: 1n, ...(terms.minimumPrice !== undefined && { minimumPrice: terms.minimumPrice }) }
  const payee = terms.payee ?? privateKeyToAddress(generatePrivateKey())
  const chain = yield* Chain
  const { accounts, rpcUrl } = chain.node
  const [sender, lent] = accounts.signers
  const local = LocalFacilitator.layerMemory({
    schemes: [
      channelEvm.facilitator({
        signer: sender,
        rpcUrl,
        authorizer: { signer: lent, ...(yield* FacilitatorPlace.lending) },
        ...least
      })
    ],
    channels: { pollMillis: 50, maximumUnclaimed: claimAt, leastClaim: 1n, leastPayout: 1n, ...watch },
    ...(gasCeilings && { gasCeilings })
  }).pipe(Layer.provide(Layer.succeed(ChannelStore, ledger)))
  const { around = (service) => service } = terms
  const asked = Layer.provideMerge(Layer.effect(Facilitator, Effect.map(Facilitator, around)), local)
  const facilitator = yield* FacilitatorPlace.at(asked, payee)
  const router = new Router()
  let runs = 0
  router.get("/report", (context) => {
    runs++
    context.status = context.query["fail"] === undefined ? 200 : 500
    context.body = { report: "It will rain." }
  })
  router.get("/stream", (context) => {
    runs++
    context.respond = false
    context.res.writeHead(200, { "Content-Type": "text/event-stream" })
    context.res.write("data: It will rain.\n\n")
  })
  router.get("/dear", async (context) => {
    runs++
    await terms.meanwhile?.()
    context.status = 500
  })
  router.get("/metered", (context) => {
    runs++
    context.status = context.query["fail"] === undefined ? 200 : 500
    context.set("Used", String(context.query["price"]))
    context.body = { report: "It will rain." }
  })
  const server = createServer()
  const url = yield* listen(server)
  const route = {
    scheme: "batch-settlement",
    network: BaseSepolia.network,
    price: "$0.001",
    payTo: payee
  } as const
  const payment = paymentMiddleware({
    origin: url,
    facilitator,
    secret: Buffer.alloc(32, 7).toString("base64"),
    schemes: [channelEvm.server({ rpcUrl, deposit })],
    router,
    routes: {
      "GET /report": route,
      "GET /stream": route,
      "GET /dear": { ...route, price: "$0.002" },
      "GET /metered": { ...route, charge: ({ header }) => header("Used") ?? "" }
    }
  })
  server.on("request", new Koa().use(payment).use(router.routes()).callback())
  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      server.closeAllConnections()
      await payment.close()
    })
  )
  yield* Effect.promise(() => payment.ready())
  return { chain, ledger, payee, sender, runs: () => runs, origin: url, url: `${url}/report` }
})

/** An open shop. */
export type Shop = Effect.Success<ReturnType<typeof opened>>

interface BuyerOptions extends BatchSettlementEvmSchemeOptions {
  /** Called with each request before it is sent. */
  readonly before?: (request: Request) => Promise<void>
}

/** A buyer of theirs with a memory of its own. `sent` has the payments that it has sent, as their headers' texts. */
export const buyerOf = (rpcUrl: string, key: Hex, { before, ...options }: BuyerOptions = {}) => {
  const account = privateKeyToAccount(key)
  const reader = createPublicClient({ transport: http(rpcUrl) })
  const signer = {
    address: account.address,
    signTypedData: (data: Parameters<typeof account.signTypedData>[0]) => account.signTypedData(data),
    readContract: (call: Parameters<typeof reader.readContract>[0]) => reader.readContract(call)
  }
  const scheme = new ChannelClient(signer, options)
  const sent: Array<string> = []
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const payment = request.headers.get("payment-signature")
    if (payment !== null) sent.push(payment)
    await before?.(request)
    return fetch(request)
  }
  const pay = wrapFetchWithPayment(send, new x402Client().register(BaseSepolia.network, scheme))
  const reading = new x402HTTPClient(new x402Client())
  return {
    scheme,
    sent,
    pay,
    buy: (url: string) => Effect.promise(() => pay(url)),
    receiptOf: ({ headers }: Response) => reading.getPaymentSettleResponse((name) => headers.get(name)),
    refusalOf: ({ headers }: Response) => reading.getPaymentRequiredResponse((name) => headers.get(name)),
    /** The channel that the buyer opens for the offer. */
    channelOf: (url: string) =>
      Effect.promise(async () => {
        const refusal = await fetch(url)
        const { accepts } = reading.getPaymentRequiredResponse((name) => refusal.headers.get(name))
        const [offer] = accepts
        if (offer === undefined) throw new Error("the shop offers nothing")
        return configOf(scheme.buildChannelConfig(offer))
      })
  }
}

type TheirConfig = ReturnType<ChannelClient["buildChannelConfig"]>

const addressOf = (text: string) => EvmAddress.fromText(text) ?? EvmAddress.zero

const configOf = (terms: TheirConfig): ChannelConfig.ChannelConfig => ({
  payer: addressOf(terms.payer),
  payerAuthorizer: addressOf(terms.payerAuthorizer),
  receiver: addressOf(terms.receiver),
  receiverAuthorizer: addressOf(terms.receiverAuthorizer),
  token: addressOf(terms.token),
  withdrawDelay: terms.withdrawDelay,
  salt: terms.salt
})

/** The id of a channel. */
export const idOf = ({ chain: { node } }: Shop, config: ChannelConfig.ChannelConfig) =>
  ChannelConfig.id(node.chainId, config)

/** Balance and claims of a channel. */
export const standing = (shop: Shop, config: ChannelConfig.ChannelConfig) =>
  Effect.promise(async () => {
    const data = ChannelCall.channels(idOf(shop, config))
    const { data: returned = "0x" } = await shop.chain.node.client.call({ to: ChannelContract.address, data })
    const pair = ChannelCall.readPair(returned)
    if (pair === undefined) throw new Error("the contract returned no sums")
    return pair
  })

/** Waits until the payee has this much. */
export const paidOut = Effect.fnUntraced(function* ({ chain, payee }: Shop, amount: bigint) {
  while ((yield* chain.balanceOf(payee)) < amount) yield* Effect.sleep("20 millis")
  assert.strictEqual(yield* chain.balanceOf(payee), amount)
})

/** The payer begins to withdraw, by a transaction of its own. */
export const beginWithdrawal = Effect.fnUntraced(function* (
  { chain: { node } }: Shop,
  config: ChannelConfig.ChannelConfig,
  amount: bigint
) {
  yield* node.request("anvil_impersonateAccount", [config.payer])
  yield* node.setBalance(config.payer, 10n ** 18n)
  const data = ChannelCall.initiateWithdraw(config, amount)
  const { status } = yield* node.send({ from: config.payer, to: ChannelContract.address, data })
  assert.strictEqual(status, "success")
})
