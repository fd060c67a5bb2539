// Buys a resource on the local EVM chain: fetch, Node's crypto, and viem for the signature.
import { createHash, randomBytes } from "node:crypto"

import { mnemonicToAccount } from "viem/accounts"

const [url] = process.argv.slice(2)
const phrase = "test test test test test test test test test test test junk"
const payer = mnemonicToAccount(phrase, { addressIndex: 100 })

const refusal = await fetch(url)
const { accepts } = await refusal.json()
const offer = accepts.find(({ network, scheme }) => scheme === "exact" && network.startsWith("eip155:"))
const { challenge, name, version } = offer.extra

// The nonce binds the payment to this request.
const salt = randomBytes(16)
const tag = createHash("sha256").update(challenge, "ascii").update(salt).digest()
const authorization = {
  from: payer.address,
  to: offer.payTo,
  value: offer.maxAmountRequired,
  validAfter: "0",
  validBefore: `${Math.floor(Date.now() / 1000) + offer.maxTimeoutSeconds}`,
  nonce: `0x${tag.toString("hex", 0, 24)}${"00".repeat(8)}`
}
const signature = await payer.signTypedData({
  domain: { name, version, chainId: Number(offer.network.slice("eip155:".length)), verifyingContract: offer.asset },
  types: {
    TransferWithAuthorization: [
      { name: "from", type: "address" },
      { name: "to", type: "address" },
      { name: "value", type: "uint256" },
      { name: "validAfter", type: "uint256" },
      { name: "validBefore", type: "uint256" },
      { name: "nonce", type: "bytes32" }
    ]
  },
  primaryType: "TransferWithAuthorization",
  message: authorization
})

const binding = { challenge, salt: salt.toString("base64url") }
const payload = Buffer.from(JSON.stringify({ signature, authorization, binding })).toString("base64")
const payment = { protocolVersion: 2, scheme: offer.scheme, network: offer.network, payload }
const paid = await fetch(url, { headers: { "X-Payment": JSON.stringify(payment) }, redirect: "error" })
const receipt = JSON.parse(paid.headers.get("x-payment-response") ?? "null")
console.log(JSON.stringify({ status: paid.status, receipt, body: await paid.text() }))
