/** HTTP servers of these tests: a real shop on a chain, and servers that do what a test says. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"

import { Router } from "@koa/router"
import { LocalFacilitator, Network, protocolSeller, type PaymentRequired, type TypedStatement } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import Koa from "koa"

/** A server of this machine, gone with the scope. */
export const listen = Effect.fnUntraced(function* (listener: RequestListener) {
  const server = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const opened = createServer(listener)
      await new Promise<void>((resolve) => opened.listen(0, "127.0.0.1", resolve))
      return opened
    }),
    (opened) =>
      Effect.sync(() => {
        opened.close()
        opened.closeAllConnections()
      })
  )
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the server has no port")
  return { origin: `http://127.0.0.1:${address.port}`, server }
})

/** A front before a shop: it counts payments, and can hold them back. */
export interface Front {
  readonly origin: string
  /** The payment headers that have arrived. */
  readonly payments: ReadonlyArray<string>
  /** While it is true, paid requests get no response. */
  holds: boolean
  /** While it is true, the connection of a paid response is cut in the middle of its body. */
  cuts: boolean
  /** Resolves when the next payment arrives. */
  readonly nextPayment: () => Promise<void>
}

/** Lets half of the body leave, and cuts the connection. The shop believes that all of it left. */
const cutShort = (response: ServerResponse): void => {
  const end = response.end.bind(response)
  Object.assign(response, {
    end: (body: string | Buffer) => {
      response.writeHead(response.statusCode, { "content-length": Buffer.byteLength(body) })
      response.write(body.slice(0, body.length - 5), () => response.socket?.destroy())
      return end
    }
  })
}

/** A Koa shop that sells `GET /report` and `POST /echo` for a cent on this chain, with its facilitator in its process. */
export const koa = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  repeat: "none" | "same" = "none",
  receipts?: TypedStatement.ReceiptSigner
) {
  const payments: Array<string> = []
  const waiting: Array<() => void> = []
  const app = new Koa()
  const handle: { serve?: ReturnType<Koa["callback"]> } = {}
  const { origin } = yield* listen((request, response) => {
    const payment = request.headers["x-payment"]
    if (typeof payment === "string") {
      payments.push(payment)
      for (const resolve of waiting.splice(0)) resolve()
      if (front.holds) return
      if (front.cuts) cutShort(response)
    }
    void handle.serve?.(request, response)
  })
  const front: Front = {
    origin,
    payments,
    holds: false,
    cuts: false,
    nextPayment: () => new Promise((resolve) => waiting.push(resolve))
  }
  const { accounts, rpcUrl } = chain
  const router = new Router()
  router.get("/report", (context) => {
    context.body = { report: "It will rain." }
  })
  router.get("/free", (context) => {
    context.body = "free"
  })
  const selling = paymentMiddleware({
    origin,
    secret: "a secret of 32 characters or more",
    facilitator: LocalFacilitator.layerMemory({
      schemes: [exactEvm.facilitator({ signer: accounts.signers[0], rpcUrl })]
    }),
    schemes: [exactEvm.server({ rpcUrl })],
    router,
    ...(receipts && { receipts }),
    routes: {
      "GET /report": {
        network: chain.network,
        price: "$0.01",
        payTo: accounts.payee.address,
        description: "The report",
        repeat,
        ...(receipts && { receipt: "response", signedOffers: true })
      }
    }
  })
  app.use(selling)
  app.use(router.routes())
  handle.serve = app.callback()
  yield* Effect.promise(() => selling.ready())
  yield* Effect.addFinalizer(() => Effect.promise(() => selling.close()))
  return front
})

/** An offer of a cent in the local chain's token. */
export const offer = (origin: string) => ({
  scheme: "exact",
  network: Network.make("eip155:31337"),
  maxAmountRequired: "10000",
  resource: `${origin}/report`,
  payTo: "0x1111111111111111111111111111111111111111",
  asset: "0x5FbDB2315678afecb367f032d93F642f64180aa3"
})

/** Writes a refusal of the protocol. */
export const refuse = (response: ServerResponse, body: PaymentRequired.PaymentRequired, status = 402): void => {
  response.writeHead(status, { ...protocolSeller.refusal(body).headers }).end(JSON.stringify(body))
}

/** Whether a request carries a payment. */
export const isPaid = ({ headers }: IncomingMessage): boolean => headers["x-payment"] !== undefined
