import { exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { fileJournal } from "@pontage/fetch/node"

// The journal survives a crash: a payment that is on its way is sent again, and never signed twice.
const { close, journal } = await fileJournal(process.env.JOURNAL ?? "payments.jsonl")
const paying = wrapFetch(fetch, {
  schemes: [exactEvm.client({ signer: exactEvm.localSigner(process.env.PRIVATE_KEY ?? ""), network: "eip155:*" })],
  limits: { perRequest: "$0.05", perDay: "$2" },
  journal
})

const response = await paying(process.argv[2] ?? "http://127.0.0.1:3000/report")
console.log(response.status, await response.text())
console.log(settlementOf(response)?.transaction)
await close()
