/** Laws of `repeat: "same"`: the payer of a served payment gets the same response again, and nothing runs twice. */
import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HostLaw, law, type TrialParts } from "./HostTrial.ts"

const { terms } = HostMarket

const ran = { times: 0 }

const repeating = (settle: "before-handler" | "after-handler") => (): TrialParts => {
  ran.times = 0
  return {
    sold: { "GET /report": { ...terms, settle, repeat: "same" } },
    headers: { "x-request-id": "7" },
    routes: [
      { method: "GET", path: "/report", handler: () => ({ headers: { etag: '"1"' }, body: `goods ${++ran.times}` }) }
    ]
  }
}

/** All of them. */
export const laws: ReadonlyArray<HostLaw> = (["before-handler", "after-handler"] as const).map((settle) =>
  law(`${settle}: a served payment that comes again brings the same response`, repeating(settle), async (trial) => {
    const { ask, market, payment } = trial
    const headers = await payment("/report")
    const first = await ask("/report", { headers })
    equal("status", first.status, 200)
    equal("end", await market.nextEnd(), "served")
    const again = await ask("/report", { headers })
    equal("status", again.status, 200)
    equal("body", again.body, "goods 1")
    equal("etag", again.headers["etag"], '"1"')
    equal("the application's own header", again.headers["x-request-id"], "7")
    equal("cache-control", again.headers["cache-control"], "private")
    demand("it carries the receipt", again.headers["x-payment-response"] === first.headers["x-payment-response"])
    equal("executions", ran.times, 1)
    equal("transfers", market.transfers(), 1)
  })
)
