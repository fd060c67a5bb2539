/**
 * The buyer as a measured process: told how many to buy at once and how many in all, it buys and says how many were served.
 */
import { exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"

import { report } from "./MeasuredProcess.ts"

const [shop = "", ...keys] = process.argv.slice(2)
const buyers = keys.map((key) =>
  wrapFetch(globalThis.fetch, {
    schemes: [exactEvm.client({ signer: exactEvm.localSigner(key), network: "eip155:31337" })],
    limits: { perDay: "$1000", perHost: "$1000" }
  })
)

/** Each buyer buys one after the other; together they are as many at once as there are keys. */
const buyAll = async (each: number): Promise<number> => {
  const counts = await Promise.all(
    buyers.map(async (paying) => {
      let served = 0
      for (let n = 0; n < each; n++) {
        const response = await paying(`${shop}/report`)
        await response.text()
        if (response.ok && settlementOf(response) !== undefined) served++
      }
      return served
    })
  )
  return counts.reduce((a, b) => a + b, 0)
}

process.on("message", (message) => {
  if (typeof message === "number") void buyAll(message).then((served) => process.send?.({ served }))
})
report(shop)
