/** Laws of a shop's page for people: a browser that navigates gets it in place of the 402's JSON, programs do not. */
import { maximumFormBytes, type Paywall, type PaywallForm } from "../../server/shop/Paywall.ts"
import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HostLaw, law, type TrialParts } from "./HostTrial.ts"

const { terms } = HostMarket

const policy = "default-src 'none'"

/** The price in the smallest unit of the test asset. */
const amount = 10_000n

/** The facts of a form, as text. */
const textOf = (form: PaywallForm): string =>
  form._tag === "Kept" ? `kept ${form.contentType} ${new TextDecoder().decode(form.body)}` : form._tag

/** A page that shows what it was given, and one file. */
const paywall: Paywall = {
  page: ({ form, languages, options, target }) => ({
    headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy },
    body:
      form === undefined
        ? `<p>${target} for ${options.map(({ amount }) => amount).join()} in ${languages}</p>`
        : textOf(form)
  }),
  file: (name, { path }) =>
    name === "app.js" ? { headers: { "Content-Type": "text/javascript" }, body: `page of ${path}` } : undefined
}

const navigating = {
  accept: "text/html,application/xhtml+xml,*/*;q=0.8",
  "accept-language": "de",
  "sec-fetch-mode": "navigate",
  "user-agent": "Mozilla/5.0"
}

const shop =
  (settle: "before-handler" | "after-handler") =>
  ({ ran }: { readonly ran: () => void }): TrialParts => ({
    paywall,
    sold: { "GET /report": { ...terms, settle } },
    routes: [
      {
        method: "GET",
        path: "/report",
        handler: () => {
          ran()
          return { body: "the goods" }
        }
      },
      { method: "GET", path: "/free", handler: () => ({ body: "free" }) }
    ]
  })

/** Counts the runs of the handler. */
const counted = () => {
  let runs = 0
  return { runs: () => runs, ran: () => void runs++ }
}

const person = (settle: "before-handler" | "after-handler"): HostLaw => {
  const counter = counted()
  return law(
    `${settle}: a person who opens a sold address gets the shop's page, and a program gets JSON`,
    () => shop(settle)(counter),
    async ({ ask, market }) => {
      const before = counter.runs()
      const { body, headers, status } = await ask("/report?day=1", { headers: navigating })
      equal("status", status, 402)
      equal("body", body, `<p>/report?day=1 for ${amount} in de</p>`)
      demand(`it is HTML: ${headers["content-type"]}`, headers["content-type"]?.startsWith("text/html") === true)
      equal("policy", headers["content-security-policy"], policy)
      equal("cache-control", headers["cache-control"], "no-store")
      demand("its headers still carry the offer", headers["payment-required"] !== undefined)
      equal("body of a HEAD", (await ask("/report", { method: "HEAD", headers: navigating })).body, "")
      for (const program of [
        {},
        { accept: "text/html" },
        { ...navigating, "sec-fetch-mode": "cors" },
        { ...navigating, "x-payment": "e30=" }
      ]) {
        // oxlint-disable-next-line no-await-in-loop -- one request after another, so that a breach is told apart
        const answer = await ask("/report", { headers: program })
        demand(
          `${JSON.stringify(program)}: ${answer.headers["content-type"]}`,
          answer.headers["content-type"]?.startsWith("application/json") === true
        )
      }
      equal("runs", counter.runs(), before)
      equal("transfers", market.transfers(), 0)
    }
  )
}

const paid = law(
  "a person's browser that pays gets what is sold, not the page",
  () => shop("before-handler")(counted()),
  async ({ ask, market, payment }) => {
    const answer = await ask("/report", { headers: { ...navigating, ...(await payment("/report")) } })
    equal("status", answer.status, 200)
    equal("body", answer.body, "the goods")
    equal("transfers", market.transfers(), 1)
  }
)

const files = law(
  "the page's files are free at the sold address, and nothing else is",
  () => shop("before-handler")(counted()),
  async ({ ask, market }) => {
    const { body, headers, status } = await ask("/report?pontage-paywall=app.js")
    equal("status", status, 200)
    equal("body", body, "page of /report")
    demand(
      `it is a script: ${headers["content-type"]}`,
      headers["content-type"]?.startsWith("text/javascript") === true
    )
    equal("body of a HEAD", (await ask("/report?pontage-paywall=app.js", { method: "HEAD" })).body, "")
    equal("status of an unknown file", (await ask("/report?pontage-paywall=other.js")).status, 404)
    for (const target of [
      "/report?pontage-paywall=app.js&day=1",
      "/report?day=1&pontage-paywall=app.js",
      "/report?pontage-paywall=app.js#x",
      "/report?pontage-paywall=../app.js"
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one request after another, so that a breach is told apart
      const answer = await ask(target)
      demand(`${target}: ${answer.status}`, answer.status === 402 || answer.status === 400)
    }
    equal("a free path", (await ask("/free?pontage-paywall=app.js")).body, "free")
    equal("transfers", market.transfers(), 0)
  }
)

const formShop = (bind: "none" | "body") => (): TrialParts => ({
  paywall,
  sold: { "POST /order": { ...terms, bind } },
  routes: [{ method: "POST", path: "/order", handler: async ({ body }) => ({ body: `order ${await body()}` }) }]
})

/** A form of text, whose body no host's own parser takes. */
const form = "name=J\u00fcrgen\r\nnote=<script>alert(1)</script>\r\n"

const formType = "text/plain; charset=utf-8"

const sending = (change: Readonly<Record<string, string>> = {}) => ({
  method: "POST",
  body: form,
  headers: { ...navigating, "sec-fetch-site": "same-origin", "content-type": formType, ...change }
})

const forms = (bind: "none" | "body"): HostLaw =>
  law(
    `a form that a person sends (bind: "${bind}") comes to the page byte for byte, and to its handler once it is paid`,
    formShop(bind),
    async ({ ask, market, payment }) => {
      const page = await ask("/order", sending())
      equal("status", page.status, 402)
      equal("page", page.body, `kept ${formType} ${form}`)
      const program = { "sec-fetch-mode": "cors", accept: "*/*" }
      const { headers } = await ask("/order", sending(program))
      demand(`a program gets JSON: ${headers["content-type"]}`, headers["content-type"]?.includes("json") === true)
      equal("transfers", market.transfers(), 0)
      const sold = await ask("/order", sending({ ...program, ...(await payment("/order", sending(program))) }))
      equal("body", sold.body, `order ${form}`)
      equal("transfers", market.transfers(), 1)
    }
  )

const strangersForms = law(
  "a form of another site, and one that is too long, come to no page",
  formShop("none"),
  async ({ ask, market }) => {
    for (const site of ["cross-site", "same-site", "none"]) {
      // oxlint-disable-next-line no-await-in-loop -- one request after another, so that a breach is told apart
      equal(site, (await ask("/order", sending({ "sec-fetch-site": site }))).body, "Elsewhere")
    }
    const long = { ...sending(), body: "x".repeat(maximumFormBytes + 1) }
    const { body, status } = await ask("/order", long)
    demand(
      `a long form gets a page that says so, or the host's own refusal: ${status} ${body}`,
      status === 413 || body === "TooLong"
    )
    equal("transfers", market.transfers(), 0)
  }
)

/** The laws. */
export const laws: ReadonlyArray<HostLaw> = [
  person("before-handler"),
  person("after-handler"),
  paid,
  files,
  forms("none"),
  forms("body"),
  strangersForms
]
