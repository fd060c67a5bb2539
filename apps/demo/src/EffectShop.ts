/**
 * A shop without a framework: the services of a sale as layers, and a program that sells one report. The page "In an Effect
 * program" of core's README shows this file.
 */
import {
  ClientSchemeRegistry,
  FacilitatorSchemeRegistry,
  type GateRequest,
  LaneLeases,
  LocalFacilitator,
  MemoryPaymentStore,
  PaymentClient,
  PaymentGate,
  PaymentJournal,
  PriceResolver,
  ServerSchemeRegistry
} from "@pontage/core"
import { type EvmSigner, exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * Where it is sold, and with whose keys.
 */
export interface EffectShopOptions {
  /** The shop's public origin: `https://shop.example`. */
  readonly origin: string
  /** Binds payments to requests: at least 32 characters. */
  readonly secret: string
  /** CAIP-2: `eip155:31337`. */
  readonly network: string
  readonly rpcUrl: string
  /** Address of the payee. */
  readonly payTo: string
  /** The key that brings payments to the chain. */
  readonly relayer: Parameters<typeof exactEvm.facilitator>[0]["signer"]
  /** The key that pays. */
  readonly payer: EvmSigner.EvmSigner
}

/** The facilitator: in this process, for one network, with its records in memory. */
const facilitator = ({ relayer, rpcUrl }: EffectShopOptions) =>
  LocalFacilitator.layer({ settleTimeoutMillis: 25_000 }).pipe(
    Layer.provide(FacilitatorSchemeRegistry.layer([exactEvm.facilitator({ signer: relayer, rpcUrl })])),
    Layer.provide([MemoryPaymentStore.layer, LaneLeases.layerSole])
  )

/** The three services of a shop: a facilitator, the schemes it sells by, and the amount of a token for a price. */
const shop = (options: EffectShopOptions) =>
  PaymentGate.layer({ origin: options.origin, secret: options.secret }).pipe(
    Layer.provide(facilitator(options)),
    Layer.provide(ServerSchemeRegistry.layer([exactEvm.server({ rpcUrl: options.rpcUrl })])),
    Layer.provide(PriceResolver.layerDollar)
  )

const buyer = ({ network, payer }: EffectShopOptions) =>
  PaymentClient.layer({ limits: { perRequest: "$0.05" } }).pipe(
    Layer.provide(ClientSchemeRegistry.layer([exactEvm.client({ signer: payer, network })])),
    Layer.provide(PaymentJournal.layerMemory)
  )

/** `GET /report` for one cent. A paid request runs its handler once. */
const sold = Effect.fnUntraced(function* ({ network, payTo }: EffectShopOptions) {
  const gate = yield* PaymentGate.PaymentGate
  const route = yield* gate.route("GET /report", { network, payTo, price: "$0.01" })
  yield* gate.ready
  return Effect.fnUntraced(function* (request: GateRequest) {
    const decision = yield* gate.decide(route, request)
    if (decision._tag === "Refused") {
      const { body, headers, status } = decision.response
      return new Response(body, { status, headers })
    }
    if (decision._tag !== "Granted") return yield* Effect.die("this route is never free and settles first")
    yield* decision.finish("served")
    return new Response("It will rain, and then it will not.", { headers: decision.headers })
  })
})

/** Asks without a payment, pays what the response demands, and gives the text that was bought. */
const program = Effect.fnUntraced(function* (options: EffectShopOptions) {
  const ask = yield* sold(options)
  const client = yield* PaymentClient.PaymentClient
  const send = (_url: string, headers: Readonly<Record<string, string>>) => ask(requestOf(headers))
  const refusal = yield* send("/report", {})
  const demand = yield* client.demandOf(refusal)
  if (demand === undefined) return yield* Effect.die("the report is free")
  const url = `${options.origin}/report`
  const answer = yield* client.pay({ method: "GET", url, body: Effect.succeed(new Uint8Array()), send }, demand)
  return yield* Effect.promise(() => answer.text())
})

/**
 * Sells one report to one buyer.
 */
export const sellOne = (options: EffectShopOptions) =>
  program(options).pipe(Effect.provide([shop(options), buyer(options)]), Effect.scoped)

/** A host fills this from its own request: the target as it came, and headers by their lower-case names. */
const requestOf = (sent: Readonly<Record<string, string>>): GateRequest => {
  const headers = Object.fromEntries(Object.entries(sent).map(([name, text]) => [name.toLowerCase(), text]))
  return {
    method: "GET",
    target: "/report",
    header: (name) => headers[name],
    headers,
    params: {},
    query: {},
    body: undefined,
    native: undefined
  }
}
