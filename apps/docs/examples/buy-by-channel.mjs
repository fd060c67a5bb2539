import { channelEvm, exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { fileJournal } from "@pontage/fetch/node"

// The journal has the channel: after a restart the next request goes on through it.
const { close, journal } = await fileJournal(process.env.JOURNAL ?? "payments.jsonl")
const signer = exactEvm.localSigner(process.env.PRIVATE_KEY ?? "")
const network = process.env.NETWORK ?? "base"
const rpcUrl = process.env.RPC_URL ?? "https://mainnet.base.org"
const paying = wrapFetch(fetch, {
  schemes: [channelEvm.client({ signer, network, rpcUrl })],
  limits: { perRequest: "$0.01", perDay: "$2", perChannel: "$1", inChannels: "$5" },
  journal
})

const url = process.argv[2] ?? "http://127.0.0.1:3000/report"
// Calls at once go through the one channel in turn.
const responses = await Promise.all(Array.from({ length: 10 }, () => paying(url)))
for (const response of responses) console.log(response.status, settlementOf(response)?.transaction ?? "")
// A refund pays back what is not spent; without it the next run goes on through the same channel.
if (process.argv[3] === "refund") console.log((await paying.refund(url)).amount.toString())
await close()
