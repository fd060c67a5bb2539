import { LocalFacilitator } from "@pontage/core"
import { channelEvm } from "@pontage/evm"
import { meterOf, paymentMiddleware } from "@pontage/express"
import { SqliteChannelStore } from "@pontage/sql/sqlite"
import * as Layer from "effect/Layer"
import express from "express"

const port = process.env.PORT ?? "3000"
const rpcUrl = process.env.RPC_URL ?? "https://sepolia.base.org"
const keyOf = (name) => channelEvm.localSigner(process.env[name] ?? "")
const ledger = SqliteChannelStore.layer({ filename: process.env.LEDGER ?? "channels.sqlite" })

const app = express()
app.use(
  paymentMiddleware({
    origin: process.env.ORIGIN ?? `http://127.0.0.1:${port}`,
    secret: process.env.SECRET ?? "only for a first try: 32 characters",
    facilitator: LocalFacilitator.layerMemory({
      schemes: [
        channelEvm.facilitator({ signer: keyOf("SIGNER_KEY"), authorizer: { signer: keyOf("AUTHORIZER_KEY") }, rpcUrl })
      ]
    }).pipe(Layer.provide(ledger)),
    schemes: [channelEvm.server({ rpcUrl })],
    routes: {
      "GET /answer": {
        scheme: "batch-settlement",
        network: process.env.NETWORK ?? "base-sepolia",
        payTo: process.env.PAY_TO ?? "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        // The first voucher covers ten tokens, and so does each further one.
        price: "$0.001",
        metered: { unit: "token", tick: "$0.0001" }
      }
    }
  })
)

/** Stands for a model. */
async function* answer() {
  for (const word of "It will rain, and then it will not. ".repeat(4).split(" ")) yield word
}

const send = async (meter, response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" })
  try {
    for await (const token of answer()) {
      // Waits for the buyer's next voucher when the present one is used up, and rejects once the stream has ended.
      await meter?.charge(1)
      response.write(`data: ${token}\n\n`)
    }
  } catch {
    // The gate has ended the response, or the buyer has left.
  }
  response.end()
}

app.get("/answer", (request, response) => send(meterOf(request), response))

app.listen(Number(port), "127.0.0.1")
