/** Laws of the route: gate and router never disagree about a request, nor price function and handler about its values. */
import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HostLaw, law, type SeenRequest, type TrialParts } from "./HostTrial.ts"

const { terms } = HostMarket

/** Spellings of the sold paths that routers, proxies or mount points may read as these paths. */
const spellings: ReadonlyArray<string> = [
  "/report /REPORT /report/ /report// //report ///report /%72eport /%2572eport /report%2F /report%2f..%2freport",
  "/./report /x/../report /report/. /report/.. /free/../report /report;v=1 /report%00 /report%20 /report? /report??x=1",
  "/report#x /report%3f /report%23 /%5creport \\report /\\report /report\\ http://evil.example/report",
  "HTTP://evil.example:80/report http://evil.example//report //evil.example/report http:/report report * /report% /report%zz",
  "/reports/7 /Reports/7 /reports/%37 /reports/a%2Fb /reports/7/ /reports//7 /reports/..%2f7 /reports/%2e%2e/report",
  "/reports/7;x=1 /reports/%ff /reports/\xe9 /reports/7%2f /reports/:day /files/a /files/a/b /files/a%2Fb /files//a",
  "/files/../files/a /FILES/a /files/./a /files/a/"
].flatMap((line) => line.split(" "))

const overrides: ReadonlyArray<Readonly<Record<string, string>>> = [
  {},
  { "x-http-method-override": "GET", "x-method-override": "GET", "x-http-method": "GET" },
  { "x-original-url": "/free", "x-rewrite-url": "/free", "x-forwarded-prefix": "/x", forwarded: "host=free" }
]

const reached = { sold: 0, free: 0 }

/** Everything below `prefix` is sold but one free route. */
const shop = (prefix: string) => (): TrialParts => {
  reached.sold = 0
  reached.free = 0
  const sold = () => (reached.sold++, { headers: { "x-handler": "sold" }, body: "the goods" })
  return {
    ...(prefix !== "" && { prefix }),
    sold: Object.fromEntries(
      ["GET /report", "GET /reports/:day", "GET /files/*", "POST /render"].map((key) => [
        key.replace("/", `${prefix}/`),
        terms
      ])
    ),
    routes: [
      { method: "GET", path: "/report", handler: sold },
      { method: "GET", path: "/reports/:day", handler: sold },
      { method: "GET", path: "/files/*", handler: sold },
      { method: "POST", path: "/render", handler: sold },
      { method: "GET", path: "/free", handler: () => (reached.free++, { body: "free" }) }
    ]
  }
}

const neverUnpaid = (prefix: string) =>
  law(
    `no spelling of a sold path reaches its handler without a payment${prefix === "" ? "" : `, below ${prefix}`}`,
    shop(prefix),
    async ({ ask }) => {
      const targets =
        prefix === ""
          ? spellings
          : spellings.map((spelling) => (spelling.startsWith("/") ? prefix + spelling : spelling))
      for (const target of targets) {
        for (const headers of overrides) {
          for (const method of ["GET", "HEAD", "POST", "OPTIONS", "PUT"]) {
            // oxlint-disable-next-line no-await-in-loop -- one request after another, so that a breach is told apart
            const answer = await ask(target, { method, headers })
            const broken = `${method} ${target} ${JSON.stringify(headers)}: ${answer.status}`
            demand(`${broken}: a sold handler ran`, reached.sold === 0 && !answer.body.includes("goods"))
          }
        }
      }
      equal("status of the sold path", (await ask(`${prefix}/report`)).status, 402)
      equal("status of the sold POST", (await ask(`${prefix}/render`, { method: "POST" })).status, 402)
      equal("the free path", (await ask(`${prefix}/free`)).body, "free")
      equal("status of a long path", (await ask(`${prefix}/files/a/b/c`)).status, 402)
    }
  )

interface Sight {
  readonly params: string
  readonly query: string
}

const priced: { byPrice: Sight | undefined; byHandler: Sight | undefined } = {
  byPrice: undefined,
  byHandler: undefined
}

const sight = ({ params, query }: Pick<SeenRequest, "params" | "query">): Sight => ({
  params: JSON.stringify(params["day"]),
  query: JSON.stringify(query)
})

const pricing = (): TrialParts => ({
  sold: {
    "GET /reports/:day": {
      network: terms.network,
      payTo: terms.payTo,
      getPrice: (request) => {
        priced.byPrice = sight(request)
        return "$0"
      }
    }
  },
  routes: [
    {
      method: "GET",
      path: "/reports/:day",
      handler: (request) => {
        priced.byHandler = sight(request)
        return { body: "free of charge" }
      }
    }
  ]
})

const values = [
  "7",
  "a%2Fb",
  "a%252Fb",
  "%37",
  "%ff",
  "%ff%41",
  "a+b",
  "%E2%82%AC",
  "%e2%82",
  "a;b=1",
  "..%2f7",
  "%",
  "%zz",
  "a%00b",
  "A",
  "a%5Cb",
  "a:b"
]
const queries = [
  "",
  "?",
  "?pages=1",
  "?pages=1&pages=2",
  "?pages[]=1",
  "?pages[a]=1",
  "?a=%ff&b=%zz",
  "?a+b=c+d",
  "?a=1;b=2",
  "?a=b=c",
  "?&&a",
  "?__proto__=1",
  "?constructor=1",
  "?a%5B%5D=1"
]

const beside = (): TrialParts => ({
  overridesMethod: true,
  sold: { "GET /report": terms, "GET /reach/:id": terms },
  routes: [
    { method: "GET", path: "/report", handler: () => ({ body: "the goods" }) },
    { method: "POST", path: "/report", handler: () => ({ body: "free" }) },
    { method: "GET", path: "/reach/:id?", handler: () => ({ body: "the goods" }) }
  ]
})

/** All of them. */
export const laws: ReadonlyArray<HostLaw> = [
  neverUnpaid(""),
  neverUnpaid("/shop"),
  law(
    "nothing sold leaves beside the gate: by a method that is rewritten behind it, or by a wider route",
    beside,
    async ({ ask }) => {
      const rewritten = [
        ["GET", "POST"],
        ["POST", "GET"],
        ["POST", "HEAD"],
        ["HEAD", "POST"]
      ] as const
      for (const [method, becomes] of rewritten) {
        // oxlint-disable-next-line no-await-in-loop -- one request after another, so that a breach is told apart
        const { body, status } = await ask("/report", { method, headers: { "x-method": becomes } })
        demand(`${method} that becomes ${becomes}: ${status} ${body}`, !body.includes("goods"))
      }
      for (const target of ["/reach", "/reach/", "/reach/1"]) {
        // oxlint-disable-next-line no-await-in-loop -- one request after another, so that a breach is told apart
        const { body, status } = await ask(target)
        demand(`${target}: ${status} ${body}`, !body.includes("goods"))
      }
    }
  ),
  law("the price function and the handler see the same parameters and query", pricing, async ({ ask }) => {
    const targets = [...values.map((value) => `/reports/${value}`), ...queries.map((query) => `/reports/7${query}`)]
    let seen = 0
    for (const target of targets) {
      priced.byPrice = undefined
      priced.byHandler = undefined
      // oxlint-disable-next-line no-await-in-loop -- one request after another shares the notes
      const { status } = await ask(target)
      if (priced.byHandler === undefined) demand(`${target}: refused, got ${status}`, status >= 400)
      else equal(target, JSON.stringify(priced.byHandler), JSON.stringify(priced.byPrice))
      if (priced.byHandler !== undefined) seen++
    }
    demand("enough requests reached the handler to prove anything", seen > queries.length)
  })
]
