import { exactEvm, topUpEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { fileJournal } from "@pontage/fetch/node"

// The journal has a top-up before it is sent: after a crash the same program waits for it, and signs no other one.
const { close, journal } = await fileJournal(process.env.JOURNAL ?? "payments.jsonl")
const signer = exactEvm.localSigner(process.env.PRIVATE_KEY ?? "")
// Your own nodes: they say what you have, and what has arrived.
const nodes = JSON.parse(
  process.env.NODES ?? '{"arbitrum":"https://arb1.arbitrum.io/rpc","polygon":"https://polygon-bor-rpc.publicnode.com"}'
)
// Tokens and bridges beside the known ones, which are those of USDT0 and USDC.
const { assets = [], bridges = [] } = JSON.parse(process.env.BRIDGES ?? "{}")
const facilitator = process.env.FACILITATOR ?? "https://facilitator.example"
const paying = wrapFetch(fetch, {
  schemes: [exactEvm.client({ signer, network: "eip155:*", assets })],
  limits: { perRequest: "$12", perDay: "$40" },
  allow: { topUp: true },
  topUp: topUpEvm.topUps({ signer, facilitator, nodes, assets, bridges, atLeast: "$25" }),
  confirm: ({ price, topUp }) => {
    if (topUp) console.log(`${topUp.totalPrice} leave ${topUp.from.network}, ${topUp.feePrice} of it as a fee`)
    console.log(`${price} for the resource`)
    return true
  },
  journal
})

const response = await paying(process.argv[2] ?? "http://127.0.0.1:3000/report")
console.log(response.status, await response.text())
console.log(settlementOf(response)?.transaction)
await close()
