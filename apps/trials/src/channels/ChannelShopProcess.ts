/**
 * A shop of channels under trial, as a process: the facilitator, the ledger and the watch that claims are in it. Beside its goods it shows
 * the ledger's record of a channel and the lane transactions that are not over, for the audit. Its environment configures it: `TRIAL_SETTINGS`, `FAILPOINT`, `MUTATION`.
 */
import { createServer } from "node:http"
import { flushCompileCache } from "node:module"

import { Router } from "@koa/router"
import {
  ChannelStore,
  Checkpoint,
  Facilitator,
  FacilitatorSchemeRegistry,
  LocalFacilitator,
  PaymentStore,
  protocolSeller,
  x402v2Seller
} from "@pontage/core"
import { channelEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { paymentMiddleware } from "@pontage/koa"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import "effect/schema/SchemaJITCompiler/enable"
import * as Layer from "effect/Layer"
import Koa from "koa"
import { privateKeyToAccount } from "viem/accounts"

import * as TrialProcess from "../world/TrialProcess.ts"
import { fromText, type TrialSettings } from "../world/TrialSettings.ts"
import * as TrialStore from "../world/TrialStore.ts"
import { deposit, goods } from "./ChannelGoods.ts"
import * as TrialLedger from "./TrialLedger.ts"

type Ledger = ChannelStore["Service"]
type Records = PaymentStore.PaymentStore["Service"]

/** Claims are paid out at once. */
const watch = { pollMillis: 200, leastClaim: 1n, leastPayout: 1n }

/** The default holds a long trial back. */
const unlimited = 10n ** 24n

const mutation = TrialProcess.mutation()

const schemeOf = ({ assets, channels, finalityDepth, rpcTimeoutMillis, rpcUrl, signerKeys }: TrialSettings) =>
  TrialProcess.untilReady(
    channelEvm.facilitator({
      signer: signerKeys.map((key) => privateKeyToAccount(key)),
      rpcUrl,
      assets,
      finalityDepth,
      rpcTimeoutMillis,
      minimumDeposit: 1n,
      ...(channels && { authorizer: { signer: privateKeyToAccount(channels.authorizerKey) } })
    })
  )

const mutatedOf = (settings: TrialSettings) =>
  Effect.map(schemeOf(settings), (scheme) => mutation.scheme?.(scheme) ?? scheme)

const localOf = (settings: TrialSettings) => {
  const { settleTimeoutMillis, store } = settings
  const channels = { ...watch, maximumAgeMillis: settings.channels?.claimAgeMillis ?? 1_000 }
  const gasCeilings = { total: () => unlimited }
  return LocalFacilitator.layer({ settleTimeoutMillis, gasCeilings, channels }).pipe(
    Layer.provideMerge(FacilitatorSchemeRegistry.layer([mutatedOf(settings)])),
    Layer.provideMerge(TrialStore.layer(store, mutation)),
    Layer.provideMerge(TrialLedger.layer(store, mutation)),
    Layer.provide(BestCrypto.layer)
  )
}

/** The shop's own requests pass the checkpoints too. */
const struck = (facilitator: Facilitator["Service"], strike: Checkpoint.Strike) => {
  const within = Effect.provideService(Checkpoint.Checkpoint, strike)
  return Facilitator.of({
    ...facilitator,
    settle: (request, claim) => within(facilitator.settle(request, claim)),
    claim: (request, claim) => within(facilitator.claim(request, claim)),
    finish: (paymentId, claimId, outcome) => within(facilitator.finish(paymentId, claimId, outcome))
  })
}

/** Looks at a channel until what it had charged is claimed. */
const untilClaimed = Effect.fnUntraced(function* (ledger: Ledger, channelId: string) {
  const before = yield* ledger.find(channelId)
  if (before === undefined) return
  for (let look = 0; look < looks; look++) {
    const { claimed = 0n } = (yield* ledger.find(channelId)) ?? {}
    if (claimed >= before.charged) return
    yield* Effect.sleep("100 millis")
  }
})

const looks = 50

const toJson = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}` : part))

/** The lane transactions that are not over, as they are on record. */
const lanesOf = (records: Records) =>
  Effect.flatMap(records.lanesInUse, (lanes) => Effect.forEach(lanes, (lane) => records.openTransactions(lane)))

const routerOf = (ledger: Ledger, records: Records) => {
  const router = new Router()
  router.get("/lanes", async (context) => {
    context.type = "json"
    context.body = toJson((await Effect.runPromise(lanesOf(records))).flat())
  })
  router.get("/books/:channel", async (context) => {
    const standing = await Effect.runPromise(ledger.find(String(context.params["channel"])))
    context.type = "json"
    context.body = toJson(standing ?? {})
  })
  for (const [name, { isServed }] of Object.entries(goods)) {
    router.get(`/${name}`, async (context) => {
      const { channel } = context.query
      if (name === "late" && typeof channel === "string") await Effect.runPromise(untilClaimed(ledger, channel))
      context.status = isServed ? 200 : 500
      context.body = { goods: name }
    })
  }
  return router
}

const open = (settings: TrialSettings, services: Context.Context<Services>, facilitator: Facilitator["Service"]) => {
  const { assets, channels, port, rpcUrl } = settings
  const router = routerOf(Context.get(services, ChannelStore), Context.get(services, PaymentStore.PaymentStore))
  const terms = {
    scheme: "batch-settlement",
    network: assets[0]?.network ?? "",
    asset: assets[0]?.address ?? "",
    payTo: channels?.payTo ?? "",
    maxTimeoutSeconds: channels?.validSeconds ?? 60,
    dialects: [protocolSeller, x402v2Seller]
  }
  const routes = Object.entries(goods).map(([name, { price }]) => [`GET /${name}`, { ...terms, price }] as const)
  const payment = paymentMiddleware({
    origin: `http://127.0.0.1:${port}`,
    facilitator: Layer.succeed(Facilitator, facilitator),
    secret: "a secret of at least thirty-two characters",
    schemes: [channelEvm.server({ rpcUrl, assets, deposit })],
    router,
    routes: Object.fromEntries(routes)
  })
  const app = new Koa()
  app.silent = true
  app.use(payment).use(router.routes())
  createServer(app.callback()).listen(port, "127.0.0.1", () => {
    void payment.ready().then(() => process.send?.({ url: `http://127.0.0.1:${port}` }))
  })
}

type Services = ChannelStore | PaymentStore.PaymentStore

/** Sets the clock of this process, which all of its libraries read. */
const setClock = ({ channels }: TrialSettings) => {
  const { clockAheadMillis = 0 } = channels ?? {}
  const now = Date.now.bind(Date)
  Date.now = () => now() + clockAheadMillis
}

const program = Effect.gen(function* () {
  const settings = fromText(process.env["TRIAL_SETTINGS"] ?? "")
  setClock(settings)
  const strike = TrialProcess.strikes(settings)
  const context = yield* Effect.provideService(Layer.build(localOf(settings)), Checkpoint.Checkpoint, strike)
  open(settings, context, struck(Context.get(context, Facilitator), strike))
  // A process that is killed keeps nothing: the next life begins quicker with what this one has compiled.
  flushCompileCache()
  return yield* Effect.never
})

// The parent process is gone, so this one has no purpose left.
process.on("disconnect", () => process.exit(1))
await Effect.runPromise(Effect.scoped(program))
