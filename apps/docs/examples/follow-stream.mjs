import { channelEvm, exactEvm } from "@pontage/evm"
import { streamOf, wrapFetch } from "@pontage/fetch"

const signer = exactEvm.localSigner(process.env.PRIVATE_KEY ?? "")
const network = process.env.NETWORK ?? "base"
const rpcUrl = process.env.RPC_URL ?? "https://mainnet.base.org"
const paying = wrapFetch(fetch, {
  schemes: [channelEvm.client({ signer, network, rpcUrl })],
  limits: { perRequest: "$0.01", perStream: "$0.10", perDay: "$2" }
})

const response = await paying(process.argv[2] ?? "http://127.0.0.1:3000/answer")
for await (const chunk of response.body) process.stdout.write(chunk)
const end = await streamOf(response)?.ended
if (end !== undefined) console.error(end.outcome, `${end.units} units`, `${end.charged} of ${end.signed} charged`)
