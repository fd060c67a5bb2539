/**
 * The whole flow on one machine: three chains, a facilitator, two shops, a buyer on each chain who pays each of them, and on the EVM
 * chain a smart account, and a shop that sells in a token without transfer authorizations. Then an answer that is sold by the token
 * while it is sent, and at last a purchase across two chains.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"

import { LocalFacilitator } from "@pontage/core"
import { DevNet } from "@pontage/devnet"
import { type EvmAsset, exactEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { SmartAccounts } from "@pontage/evm/testing"
import * as FacilitatorService from "@pontage/facilitator"
import { exactTon } from "@pontage/ton"
import { exactTron } from "@pontage/tron"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"

import { accountBuyer, buyer, permitBuyer, tonBuyer, tronBuyer } from "./Buyer.ts"
import * as Crossing from "./Crossing.ts"
import { koaShop } from "./KoaShop.ts"
import { evmLedger, tonLedger, tronLedger } from "./Ledgers.ts"
import type { Narrator } from "./Narrator.ts"
import { nestShop } from "./NestShop.ts"
import * as Purchase from "./Purchase.ts"
import * as Streaming from "./Streaming.ts"
import { tokenShop } from "./TokenShop.ts"
import * as WdkBuyers from "./WdkBuyers.ts"

/**
 * Where everything listens: fixed ports for a person who wants to try it, free ones for a program.
 */
export interface Ports {
  readonly evm: number
  readonly ton: number
  readonly tron: number
  readonly facilitator: number
  readonly koa: number
  readonly nest: number
  readonly stream: number
}

const host = "127.0.0.1"

/** For a demonstration on this machine; a real shop keeps its own in its environment. */
const secret = "a secret of at least thirty-two characters"

/** Options of the demonstration. */
export interface DemoOptions {
  /** Whether buyers with the WDK buy too; their packages are installed on the first use. */
  readonly wdk?: boolean
}

/** The addresses of the shops. */
export interface Shops {
  readonly koa: string
  readonly nest: string
  readonly stream: string
}

/**
 * Starts everything and buys a report from each shop on each chain. Everything ends with the scope.
 */
export const run = Effect.fnUntraced(function* (
  ports: Ports,
  narrator: Narrator,
  options: DemoOptions = {}
): Effect.fn.Return<Shops, unknown, Scope.Scope> {
  const chains = yield* startChains(ports, narrator)
  const { evm, ton, tron } = chains
  // Beside everything else: it takes some seconds, and on its first use its contracts are installed.
  const crossing = yield* Effect.forkScoped(Crossing.start(evm, secret))
  const facilitator = yield* startFacilitator(chains, ports.facilitator)
  yield* narrator.heading("Facilitator")
  yield* narrator.row("at", facilitator.url, `${facilitator.url}/docs has its API`)

  const common: Common = {
    facilitator: facilitator.url,
    secret,
    evm: { rpcUrl: evm.rpcUrl, payTo: evm.accounts.payee.address },
    ton: { rpcUrl: ton.rpcUrl, payTo: ton.accounts.payee.raw },
    tron: { rpcUrl: tron.rpcUrl, payTo: tron.accounts.payee.address }
  }
  yield* narrator.heading("Shops")
  const koa = yield* startKoaShop(common, ports.koa)
  yield* narrator.row("Koa", koa, "sells GET /report for $0.01, and GET /render/:pages by the page")
  const nest = yield* startNestShop(common, ports.nest)
  yield* narrator.row("Nest", nest, "sells GET /report for $0.01")
  const inToken = yield* startTokenShop(common, plainTokenOf(chains))
  yield* narrator.row("PUSD", inToken, "sells GET /report for 0.01 PUSD, a token without transfer authorizations")
  const shops = [
    { name: "Koa", origin: koa },
    { name: "Nest", origin: nest }
  ]
  const stream = yield* Streaming.start(evm, secret, ports.stream)
  yield* buyEverywhere(chains, shops, { name: "PUSD", origin: inToken }, narrator)
  yield* Streaming.buy(evm, stream, narrator)
  if (options.wdk === true) yield* buyBySeed(chains, shops, narrator)
  yield* Crossing.buy(yield* Fiber.join(crossing), narrator)
  return { koa, nest, stream: stream.origin }
})

/** The chain's token of USDT's shape. */
const plainTokenOf = ({ evm, evmSmartAccounts }: DevNet.DevNet): EvmAsset.CustomAsset => ({
  network: evm.network,
  address: evmSmartAccounts.plainToken,
  symbol: "PUSD",
  decimals: 6
})

const startChains = Effect.fnUntraced(function* (ports: Ports, narrator: Narrator) {
  yield* narrator.heading("Chains on this machine, in memory")
  const chains = yield* DevNet.make({
    ...(ports.evm !== 0 && { evmPort: ports.evm }),
    ...(ports.ton !== 0 && { tonPort: ports.ton }),
    ...(ports.tron !== 0 && { tronPort: ports.tron })
  })
  const { evm, ton, tron } = chains
  yield* narrator.row("EVM", `${evm.network} at ${evm.rpcUrl}`, `token ${evm.token.symbol} ${evm.token.address}`)
  yield* narrator.row("TON", `${ton.network} at ${ton.rpcUrl}`, `jetton ${ton.jetton.symbol} ${ton.jetton.raw}`)
  yield* narrator.row("TRON", `${tron.network} at ${tron.rpcUrl}`, `token ${tron.token.symbol} ${tron.token.address}`)
  return chains
})

const startFacilitator = Effect.fnUntraced(function* (chains: DevNet.DevNet, port: number) {
  const { evm, evmSmartAccounts, ton, tron } = chains
  const { counterfactualSettler } = evmSmartAccounts
  const [signer] = evm.accounts.signers
  const schemes = [
    exactEvm.facilitator({
      signer,
      rpcUrl: evm.rpcUrl,
      assets: [plainTokenOf(chains)],
      counterfactualSettler,
      userOperations: {},
      permit2: true
    }),
    exactTon.facilitator({ signer: ton.accounts.relayers[0], rpcUrl: ton.rpcUrl, network: "ton:local" }),
    exactTron.facilitator({ rpcUrl: tron.rpcUrl, network: "tron:local" })
  ]
  // A program may read the output, so the choice of cryptography is not logged.
  const quietly = Layer.provide(BestCrypto.layer, Logger.layer([]))
  const facilitator = Layer.provide(LocalFacilitator.layerMemory({ schemes }), quietly)
  return yield* FacilitatorService.serve({ host, port }).pipe(Effect.provide(yield* Layer.build(facilitator)))
})

/** Each buyer buys from each shop that sells in its token. */
const buyEverywhere = Effect.fnUntraced(function* (
  chains: DevNet.DevNet,
  shops: ReadonlyArray<Purchase.Shop>,
  inToken: Purchase.Shop,
  narrator: Narrator
): Effect.fn.Return<void> {
  yield* narrator.heading("Buyers")
  const keys = yield* keyBuyers(chains, narrator)
  const { byAuthorization, byOperation } = yield* safeBuyers(chains, narrator)
  const byPermit = permitBuyerOn(chains)
  for (const { origin } of [...shops, inToken]) yield* Purchase.untilOnSale(origin)
  yield* narrator.heading("Purchases of GET /report, each found on its chain")
  for (const one of keys) {
    for (const shop of shops) yield* narrator.bought(yield* Purchase.buy(one, shop, "/report"))
  }
  for (const one of [byPermit, byOperation]) yield* narrator.bought(yield* Purchase.buy(one, inToken, "/report"))
  for (const shop of shops) yield* narrator.bought(yield* Purchase.buy(byAuthorization, shop, "/report"))
})

/** Each account of one seed buys from each shop. */
const buyBySeed = Effect.fnUntraced(function* (
  chains: DevNet.DevNet,
  shops: ReadonlyArray<Purchase.Shop>,
  narrator: Narrator
) {
  yield* narrator.heading("Buyers with the WDK: one seed, an account on each chain")
  for (const one of yield* WdkBuyers.make(chains, narrator)) {
    for (const shop of shops) yield* narrator.bought(yield* Purchase.buy(one, shop, "/report"))
  }
})

/** The first payer, which has approved Permit2 in the token without transfer authorizations. */
const permitBuyerOn = (chains: DevNet.DevNet): Purchase.Buyer => {
  const { evm, evmSmartAccounts } = chains
  return {
    kind: "key, by Permit2",
    pay: permitBuyer(evm.accounts.payers[0].privateKey, plainTokenOf(chains), evm.rpcUrl),
    ledger: evmLedger(chains, evmSmartAccounts.plainToken)
  }
}

/** Buyers with a key, one on each chain. */
const keyBuyers = Effect.fnUntraced(function* (chains: DevNet.DevNet, narrator: Narrator) {
  const { evm, ton, tron } = chains
  const [evmPayer] = evm.accounts.payers
  const [tonPayer] = ton.accounts.payers
  const [tronPayer] = tron.accounts.payers
  yield* narrator.row("EVM", evmPayer.address, `owns ${evm.token.symbol}, PUSD and no coin for gas`)
  yield* narrator.row("TON", tonPayer.raw, `owns ${ton.jetton.symbol} and no TON`)
  yield* narrator.row("TRON", tronPayer.address, `owns ${tron.token.symbol}, and TRX for the fees of the chain`)
  const kind = "key"
  return [
    { kind, pay: buyer(evmPayer.privateKey), ledger: evmLedger(chains) },
    { kind, pay: tonBuyer(tonPayer, ton.rpcUrl), ledger: tonLedger(chains) },
    { kind, pay: tronBuyer(tronPayer.privateKey, tron.rpcUrl), ledger: tronLedger(chains) }
  ] satisfies ReadonlyArray<Purchase.Buyer>
})

/**
 * A Safe that does not exist yet buys by a user operation in the token without transfer authorizations, which deploys it; then, deployed,
 * by a transfer authorization.
 */
const safeBuyers = Effect.fnUntraced(function* (chains: DevNet.DevNet, narrator: Narrator) {
  const { evm, evmSmartAccounts } = chains
  const safe = yield* Effect.promise(() => SmartAccounts.safe(evm, evm.accounts.payers[0]))
  yield* narrator.row("Safe", safe.address, `is not deployed yet, owns ${evm.token.symbol}, PUSD and no coin for gas`)
  const pay = accountBuyer(safe, plainTokenOf(chains))
  const ledger = evmLedger(chains, evmSmartAccounts.plainToken)
  return {
    byOperation: { kind: "Safe, by user operation", pay, ledger },
    byAuthorization: { kind: "Safe, by authorization", pay, ledger: evmLedger(chains) }
  } satisfies Record<string, Purchase.Buyer>
})

type Common = Omit<Parameters<typeof koaShop>[0], "origin">

/** The port is taken before the shop is made: a shop knows the origin it is reached under. */
const startKoaShop = Effect.fnUntraced(function* (common: Common, port: number) {
  const server = createServer()
  const origin = yield* listen(server, port)
  server.on("request", koaShop({ ...common, origin }).callback())
  return origin
})

const startTokenShop = Effect.fnUntraced(function* (
  { evm, facilitator, secret: shopSecret }: Common,
  token: EvmAsset.CustomAsset
) {
  const server = createServer()
  const origin = yield* listen(server, 0)
  server.on("request", tokenShop({ origin, facilitator, secret: shopSecret, evm, token }).callback())
  return origin
})

const startNestShop = Effect.fnUntraced(function* (common: Common, port: number) {
  const origin = `http://${host}:${port === 0 ? yield* freePort : port}`
  const app = yield* Effect.promise(() => nestShop({ ...common, origin }))
  yield* Effect.acquireRelease(
    Effect.promise(() => app.listen(Number(new URL(origin).port), host)),
    () => Effect.promise(() => app.close())
  )
  return origin
})

const freePort = Effect.scoped(
  Effect.map(
    Effect.suspend(() => listen(createServer(), 0)),
    (origin) => Number(new URL(origin).port)
  )
)

const listen = (server: Server, port: number) =>
  Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen(port, host, () => {
        const address = server.address()
        resume(Effect.succeed(`http://${host}:${isBound(address) ? address.port : port}`))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

const isBound = (address: AddressInfo | string | null): address is AddressInfo =>
  typeof address === "object" && address !== null
