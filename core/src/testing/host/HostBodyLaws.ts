/** Laws of request bodies: `bind: "body"`, its limit, and a body that reaches the handler unchanged. */
import { maximumBytes } from "../../server/http/BoundBody.ts"
import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HostLaw, law, type TrialParts } from "./HostTrial.ts"

const { terms } = HostMarket

const printing = (): TrialParts => ({
  sold: {
    "POST /print": { ...terms, bind: "body" },
    "POST /checked": {
      ...terms,
      validate: ({ query }) => (query["city"] === "Rome" ? undefined : { status: 400, message: "no such city" })
    }
  },
  routes: [
    { method: "POST", path: "/print", handler: async ({ body }) => ({ body: `printed ${await body()}` }) },
    { method: "POST", path: "/checked", handler: async ({ body }) => ({ body: `checked ${await body()}` }) }
  ]
})

const post = (body: string, headers: Readonly<Record<string, string>> = {}) => ({
  method: "POST",
  body,
  headers: { "content-type": "text/plain", ...headers }
})

/** All of them. */
export const laws: ReadonlyArray<HostLaw> = [
  law("a body that a payment is bound to reaches the handler unchanged", printing, async ({ ask, market, payment }) => {
    for (const text of ["page 1", "x".repeat(200_000), "ü"]) {
      // oxlint-disable-next-line no-await-in-loop -- each body is paid for by itself
      const headers = await payment("/print", post(text))
      // oxlint-disable-next-line no-await-in-loop -- each body is paid for by itself
      equal("body", (await ask("/print", post(text, headers))).body, `printed ${text}`)
      // oxlint-disable-next-line no-await-in-loop -- each body is paid for by itself
      equal("end", await market.nextEnd(), "served")
    }
  }),
  law("a payment that is bound to a body opens no other", printing, async ({ ask, market, payment }) => {
    const headers = await payment("/print", post("page 1"))
    const { body, status } = await ask("/print", post("page 2", headers))
    demand(`another body is refused, got ${status}`, status >= 400 && !body.includes("printed"))
    equal("transfers", market.transfers(), 0)
  }),
  law("a body beyond the limit is refused, and charged to no one", printing, async ({ ask, market, payment }) => {
    const headers = await payment("/print", post("page 1"))
    const { body, status } = await ask("/print", post("x".repeat(maximumBytes + 1), headers))
    demand(`it is refused, got ${status}`, status >= 400 && !body.includes("printed"))
    equal("transfers", market.transfers(), 0)
  }),
  law("a body whose declared length is beyond the limit is refused before it comes", printing, async ({ ask }) => {
    // Beyond the limits of every host's own parser too, and not one byte of it is sent.
    const length = { "content-type": "text/plain", "content-length": `${1024 * maximumBytes}` }
    equal("status", (await ask("/print", { method: "POST", headers: length })).status, 413)
  }),
  law(
    "a request that validate refuses costs nothing, and one that it accepts gets its body",
    printing,
    async ({ ask, market, payment }) => {
      const headers = await payment("/checked?city=Rome", post("text"))
      equal("status", (await ask("/checked?city=Oslo", post("text", headers))).status, 400)
      equal("transfers", market.transfers(), 0)
      equal("body", (await ask("/checked?city=Rome", post("text", headers))).body, "checked text")
    }
  )
]
