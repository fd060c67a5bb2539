import * as HostMarket from "./HostMarket.ts"
/** Laws of a shop's discovery documents: they show what is sold and at which price, and nothing else. */
import { demand, equal, type HostLaw, law, type TrialParts } from "./HostTrial.ts"

const { terms } = HostMarket

const discovery = { title: "A shop", description: "Sells reports", llms: true, categories: ["weather"] } as const

const shop = (prefix: string) => (): TrialParts => ({
  discovery,
  ...(prefix !== "" && { prefix }),
  sold: {
    [`GET ${prefix}/reports/:day`]: {
      ...terms,
      description: "The report of a day",
      input: {
        params: { type: "object", properties: { day: { type: "string", format: "date" } } },
        query: { type: "object", properties: { unit: { enum: ["C", "F"] } }, required: ["unit"] },
        example: { query: { unit: "C" } }
      },
      output: { schema: { type: "object" }, example: { rain: true } }
    },
    [`GET ${prefix}/secret`]: { ...terms, listed: false },
    [`POST ${prefix}/render`]: { network: terms.network, payTo: terms.payTo, getPrice: () => "$0.02" }
  },
  routes: [
    { method: "GET", path: "/reports/:day", handler: () => ({ body: "the goods" }) },
    { method: "GET", path: "/secret", handler: () => ({ body: "the goods" }) },
    { method: "POST", path: "/render", handler: () => ({ body: "the goods" }) },
    { method: "GET", path: "/free", handler: () => ({ body: "free" }) }
  ]
})

const documents = (prefix: string): HostLaw =>
  law(
    `the discovery documents list what is sold${prefix === "" ? "" : `, below ${prefix}`}, and are free`,
    shop(prefix),
    async ({ ask, market }) => {
      const { body, headers, status } = await ask("/openapi.json?x=1", { headers: { "x-payment": "anything" } })
      equal("status", status, 200)
      demand(`it is JSON: ${headers["content-type"]}`, headers["content-type"]?.startsWith("application/json") === true)
      equal("cache-control", headers["cache-control"], "public, max-age=300")
      const { info, paths } = JSON.parse(body)
      equal("title", info.title, "A shop")
      const listed = Object.keys(paths).toSorted().join(" ")
      equal("paths", listed, `${prefix}/render ${prefix}/reports/{day}`)
      const { parameters, responses, summary, ...report } = paths[`${prefix}/reports/{day}`].get
      equal("summary", summary, "The report of a day")
      equal("amount", report["x-payment-info"].price.amount, "0.01")
      equal("parameters", parameters.map((one: { name: string }) => one.name).join(" "), "day unit")
      demand("it has a 402", responses["402"] !== undefined)
      equal("a price by request", paths[`${prefix}/render`].post["x-payment-info"].price.mode, "dynamic")
      const text = await ask("/llms.txt")
      equal("status of the text", text.status, 200)
      demand(
        `it is text: ${text.headers["content-type"]}`,
        text.headers["content-type"]?.startsWith("text/plain") === true
      )
      demand("it names the report", text.body.includes(`${prefix}/reports/:day`) && !text.body.includes("secret"))
      equal("body of a HEAD", (await ask("/openapi.json", { method: "HEAD" })).body, "")
      equal("transfers", market.transfers(), 0)
    }
  )

const beside = law(
  "the paths of the discovery documents open nothing that is sold, and no other method has them",
  shop(""),
  async ({ ask }) => {
    for (const target of [
      "/reports/openapi.json",
      "/openapi.json/../secret",
      "//openapi.json",
      "/secret?/openapi.json"
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one request after another, so that a breach is told apart
      const answer = await ask(target)
      demand(`${target}: ${answer.status}`, !answer.body.includes("goods"))
    }
    equal("status of a sold path", (await ask("/secret")).status, 402)
    demand("POST is not served", (await ask("/openapi.json", { method: "POST" })).status >= 400)
    const offer = await ask("/reports/7?unit=C")
    const required = JSON.parse(Buffer.from(String(offer.headers["payment-required"]), "base64").toString("utf8"))
    equal("method in the offer", required.extensions.bazaar.info.input.method, "GET")
    equal("template in the offer", required.extensions.bazaar.routeTemplate, "/reports/:day")
  }
)

const silent = law(
  "a shop without the option announces nothing",
  () => {
    const { discovery: _, ...parts } = shop("")()
    return parts
  },
  async ({ ask }) => {
    equal("status", (await ask("/openapi.json")).status, 404)
    equal("status of the text", (await ask("/llms.txt")).status, 404)
  }
)

/** The laws. */
export const laws: ReadonlyArray<HostLaw> = [documents(""), documents("/shop"), beside, silent]
