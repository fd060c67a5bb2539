import { maximumHeldBytes } from "../../server/host/HeldBody.ts"
/** Laws of `receipt: "response"`: the signed receipt covers the response as its payer receives it. */
import { purchaseReceipt } from "../../wire/pontage/PurchaseReceiptShape.ts"
import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HandlerReply, type HostLaw, law, type TrialParts } from "./HostTrial.ts"
import type { HostAnswer } from "./NodeWire.ts"

const { terms } = HostMarket

const orders = ["before-handler", "after-handler"] as const

const sold = (settle: (typeof orders)[number], reply: () => HandlerReply) => (): TrialParts => ({
  sold: { "GET /report": { ...terms, settle, receipt: "response" } },
  routes: [{ method: "GET", path: "/report", handler: reply }]
})

/** A shop whose first response is a refusal. */
const refusing = (receipt: "payment" | "response") => (): TrialParts => {
  let count = 0
  return {
    sold: { "GET /report": { ...terms, receipt } },
    routes: [
      {
        method: "GET",
        path: "/report",
        handler: () => (count++ === 0 ? { status: 404, body: "no such day" } : { body: "It will rain" })
      }
    ]
  }
}

const receiptOn = ({ headers }: HostAnswer): object => Object(JSON.parse(headers["x-payment-response"] ?? "{}"))

const statementOn = ({ headers }: HostAnswer) => {
  const json: unknown = JSON.parse(headers["x-payment-response"] ?? "{}")
  const signed = purchaseReceipt.read(Reflect.get(Object(json), "signedReceipt"))
  demand("it carries a signed receipt", signed !== undefined && !("problem" in signed))
  return signed !== undefined && "payload" in signed ? signed.payload : undefined
}

const digestOf = async (text: string): Promise<string> => {
  const digest = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
}

async function* inParts() {
  yield "It will "
  yield "rain: ä"
}

async function* tooMuch() {
  for (let index = 0; index <= maximumHeldBytes / (1024 * 1024); index++) yield "x".repeat(1024 * 1024)
}

const replies: ReadonlyArray<readonly [name: string, reply: () => HandlerReply]> = [
  ["in one piece", () => ({ status: 203, headers: { "content-type": "text/plain" }, body: "It will rain: ä" })],
  ["in parts", () => ({ headers: { "content-type": "text/plain" }, body: inParts() })]
]

/** All of them. */
export const laws: ReadonlyArray<HostLaw> = [
  ...orders.flatMap((order) =>
    replies.map(([name, reply]) =>
      law(`${order}: a receipt covers a response ${name}`, sold(order, reply), async ({ ask, market, payment }) => {
        const answer = await ask("/report", { headers: await payment("/report") })
        equal("body", answer.body, "It will rain: ä")
        const statement = statementOn(answer)
        equal("status", statement?.responseStatus, answer.status)
        equal("digest", statement?.responseSha256, await digestOf(answer.body))
        equal("end", await market.nextEnd(), "served")
      })
    )
  ),
  ...(["payment", "response"] as const).map((receipt) =>
    law(
      `before-handler: a payment has one signed receipt, of what it has bought (receipt: ${receipt})`,
      refusing(receipt),
      async ({ ask, market, payment }) => {
        const headers = await payment("/report")
        const refusal = await ask("/report", { headers })
        equal("status", refusal.status, 404)
        demand("the refusal says what the payment is still good for", "ifRefused" in receiptOn(refusal))
        demand("the refusal has no signed receipt", !("signedReceipt" in receiptOn(refusal)))
        equal("end", await market.nextEnd(), "refused")
        const answer = await ask("/report", { headers })
        equal("status", answer.status, 200)
        equal("signed status", statementOn(answer)?.responseStatus, receipt === "response" ? 200 : 0)
        equal("end", await market.nextEnd(), "served")
      }
    )
  ),
  law(
    "before-handler: a response that is too long to be held leaves whole, with a receipt that covers none",
    sold("before-handler", () => ({ body: tooMuch() })),
    async ({ ask, market, payment }) => {
      const answer = await ask("/report", { headers: await payment("/report") })
      equal("length", answer.body.length, maximumHeldBytes + 1024 * 1024)
      const statement = statementOn(answer)
      equal("signed status", statement?.responseStatus, 0)
      equal("digest", statement?.responseSha256, "")
      equal("end", await market.nextEnd(), "served")
    }
  )
]
