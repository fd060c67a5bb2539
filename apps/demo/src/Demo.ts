/**
 * The whole flow on one machine: a chain, a facilitator, two shops, and a buyer who pays each of them once.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"

import { LocalFacilitator } from "@pontage/core"
import { DevNet } from "@pontage/devnet"
import { exactEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import * as FacilitatorService from "@pontage/facilitator"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

import { buyer } from "./Buyer.ts"
import { koaShop } from "./KoaShop.ts"
import { nestShop } from "./NestShop.ts"
import * as Purchase from "./Purchase.ts"

/**
 * Where everything listens: fixed ports for a person who wants to try it, free ones for a program.
 */
export interface Ports {
  readonly evm: number
  readonly facilitator: number
  readonly koa: number
  readonly nest: number
}

/**
 * Told what happens, in words, as it happens.
 */
export type Tell = (topic: string, text: string) => Effect.Effect<void>

const host = "127.0.0.1"

/** For a demonstration on this machine; a real shop keeps its own in its environment. */
const secret = "a secret of at least thirty-two characters"

/**
 * Starts everything and buys a report from each shop. Everything ends with the scope.
 */
export const run = Effect.fnUntraced(function* (
  ports: Ports,
  tell: Tell
): Effect.fn.Return<ReadonlyArray<Purchase.Purchase>, unknown, Scope.Scope> {
  const { evm } = yield* DevNet.make(ports.evm === 0 ? {} : { evmPort: ports.evm })
  yield* tell("chain", `${evm.network} at ${evm.rpcUrl}, token ${evm.token.symbol} ${evm.token.address}`)

  const facilitator = yield* startFacilitator(evm.rpcUrl, evm.accounts.signers[0], ports.facilitator)
  yield* tell("facilitator", `${facilitator.url}, its API at ${facilitator.url}/docs`)

  const common = { facilitator: facilitator.url, payTo: evm.accounts.payee.address, rpcUrl: evm.rpcUrl, secret }
  const koa = yield* startKoaShop(common, ports.koa)
  yield* tell("shop (Koa)", `${koa}, sells GET /report for $0.01 and GET /render/:pages by the page`)
  const nest = yield* startNestShop(common, ports.nest)
  yield* tell("shop (Nest)", `${nest}, sells GET /report for $0.01`)

  const [payer] = evm.accounts.payers
  const paying = buyer(payer.privateKey)
  yield* tell("buyer", `${payer.address}, owns ${evm.token.symbol} and no coin for gas`)
  const purchases: Array<Purchase.Purchase> = []
  for (const shop of [koa, nest]) yield* untilOnSale(shop)
  for (const shop of [koa, nest]) purchases.push(yield* Purchase.buy(paying, evm, shop, "/report"))
  return purchases
})

const startFacilitator = Effect.fnUntraced(function* (
  rpcUrl: string,
  signer: Parameters<typeof exactEvm.facilitator>[0]["signer"],
  port: number
) {
  const schemes = [exactEvm.facilitator({ signer, rpcUrl })]
  // What is printed may be read by a program, so the choice of cryptography is not logged.
  const quietly = Layer.provide(BestCrypto.layer, Logger.layer([]))
  const facilitator = Layer.provide(LocalFacilitator.layerMemory({ schemes }), quietly)
  return yield* FacilitatorService.serve({ host, port }).pipe(Effect.provide(yield* Layer.build(facilitator)))
})

/** A shop sells nothing (503) before it has proven its wiring against chain and facilitator, which takes a moment. */
const untilOnSale = (origin: string): Effect.Effect<void> =>
  Effect.promise(() => fetch(`${origin}/report`)).pipe(
    Effect.map(({ status }) => status === 402),
    Effect.repeat({ until: (onSale) => onSale, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("30 seconds"),
    Effect.orDie
  )

type Common = Omit<Parameters<typeof koaShop>[0], "origin">

/** The port is taken before the shop is made: a shop knows the origin it is reached under. */
const startKoaShop = Effect.fnUntraced(function* (common: Common, port: number) {
  const server = createServer()
  const origin = yield* listen(server, port)
  server.on("request", koaShop({ ...common, origin }).callback())
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
