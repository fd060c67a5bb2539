import { assert, describe, it } from "@effect/vitest"
import { ClientSchemeRegistry, Misconfigured, PaymentClient, PaymentJournal, type SigningRequest } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { recoverTypedDataAddress } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"

import { exactEvm } from "../../src/index.ts"
import * as ExactEvm from "../../src/payment/ExactEvm.ts"
import * as EvmNetwork from "../../src/primitives/EvmNetwork.ts"
import * as Eip3009 from "../../src/transfer/Eip3009.ts"
import * as EvmSigner from "../../src/wallet/EvmSigner.ts"
import * as Payment from "../EvmTestPayment.ts"

const account = privateKeyToAccount(generatePrivateKey())
const network = EvmNetwork.fromChainId(8453)
const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
const payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
const domain = { name: "USD Coin", version: "2", chainId: 8453, verifyingContract: Payment.parsed(usdc) }

const request = (changes: Partial<SigningRequest["requirements"]> = {}, binding?: SigningRequest["binding"]) => {
  const schemeClient = exactEvm.client({ signer: account, network })
  const requirements = {
    scheme: "exact",
    network,
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo,
    asset: usdc,
    ...changes
  }
  const asset = schemeClient.asset(requirements)
  if (asset === undefined) throw new Error("the asset is not known")
  return { requirements, asset, validAfter: 1_700_000_000, validBefore: 1_700_000_060, binding } as const
}

const Written = Schema.decodeUnknownSync(ExactEvm.Payload)

/** The account that signed a payload under a domain. */
const signerOf = (json: unknown, under: Eip3009.Domain = domain) => {
  const { authorization, signature } = Written(json)
  return Effect.promise(() =>
    recoverTypedDataAddress({ ...Eip3009.typedData(under, authorization), signature: `0x${signature.slice(2)}` })
  )
}

describe("objection", () => {
  const { objection } = exactEvm.client({ signer: account, network })
  const to = (extra: SigningRequest["requirements"]["extra"]) => {
    const { asset, requirements } = request(extra === undefined ? {} : { extra })
    return objection?.(requirements, asset)
  }

  it("has none to an offer of the domain that the asset is known by, or of none", () => {
    assert.isUndefined(to(undefined))
    assert.isUndefined(to({}))
    assert.isUndefined(to({ name: "USD Coin", version: "2", assetTransferMethod: "eip3009", more: [1] }))
    assert.isUndefined(to({ assetTransferMethod: null }))
  })

  it("is made to another domain, which is named", () => {
    assert.match(to({ name: "USDC", version: "2" }) ?? "", /name.*"USDC".*"USD Coin"/)
    assert.match(to({ name: "USD Coin", version: "1" }) ?? "", /version.*"1".*"2"/)
  })

  it("is made to another kind of authorization", () => {
    assert.match(to({ name: "USD Coin", version: "2", assetTransferMethod: "erc7710" }) ?? "", /erc7710.*EIP-3009/)
    assert.isUndefined(to({ name: "USD Coin", version: "2", assetTransferMethod: "permit2" }))
    assert.isDefined(to({ assetTransferMethod: 1 }))
  })

  it("is none where the payer knows the token by that domain", () => {
    const own = { network, address: usdc, symbol: "USDC", decimals: 6, name: "USDC", version: "2" }
    const schemeClient = exactEvm.client({ signer: account, network, assets: [own] })
    const { requirements } = request({ extra: { name: "USDC", version: "2" } })
    const asset = schemeClient.asset(requirements)
    assert.isDefined(asset)
    assert.isUndefined(schemeClient.objection?.(requirements, asset))
  })
})

describe("exactEvm.client", () => {
  it.effect("signs exactly what was decided, as a viem account", () =>
    Effect.gen(function* () {
      const signed = yield* exactEvm.client({ signer: account, network }).sign(request())
      assert.strictEqual(signed.payer, account.address)
      const { signature: _, ...terms } = JSON.parse(JSON.stringify(signed.payload))
      assert.deepStrictEqual(terms, {
        authorization: {
          from: account.address,
          to: payTo,
          value: "10000",
          validAfter: "1700000000",
          validBefore: "1700000060",
          nonce: signed.nonce
        }
      })
      assert.strictEqual(yield* signerOf(signed.payload), account.address)
    })
  )

  it.effect("signs as a browser's wallet, which is shown the typed data", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const provider: EvmSigner.Eip1193Provider = {
        request: ({ method, params: [address, json] }) => {
          asked.push(method, address)
          const data = JSON.parse(json)
          assert.deepStrictEqual(Object.keys(data.types), ["EIP712Domain", "TransferWithAuthorization"])
          return account.signTypedData(data)
        }
      }
      const signer = EvmSigner.fromEip1193(provider, account.address)
      const signed = yield* exactEvm.client({ signer, network }).sign(request())
      assert.deepStrictEqual(asked, ["eth_signTypedData_v4", account.address])
      assert.strictEqual(yield* signerOf(signed.payload), account.address)
    })
  )

  it.effect("signs under the domain it knows, whatever the server says in extra", () =>
    Effect.gen(function* () {
      const extra = { name: "Evil Coin", version: "9", chainId: 1, verifyingContract: payTo }
      const signed = yield* exactEvm.client({ signer: account, network }).sign(request({ extra }))
      assert.strictEqual(yield* signerOf(signed.payload), account.address)
      assert.notStrictEqual(
        yield* signerOf(signed.payload, { ...domain, name: "Evil Coin", version: "9" }),
        account.address
      )
    })
  )

  it.effect("takes a nonce of 192 random bits and 64 zero bits, another each time", () =>
    Effect.gen(function* () {
      const { sign } = exactEvm.client({ signer: account, network })
      const nonces = yield* Effect.forEach([1, 2, 3], () => Effect.map(sign(request()), ({ nonce }) => nonce))
      for (const nonce of nonces) assert.match(nonce, /^0x[0-9a-f]{48}0{16}$/)
      assert.strictEqual(new Set(nonces).size, 3)
    })
  )

  it.effect("derives the nonce from a challenge and says so in the payload", () =>
    Effect.gen(function* () {
      const { binding, signed: terms } = Payment.bound()
      const signed = yield* exactEvm.client({ signer: account, network }).sign(request({}, binding))
      assert.strictEqual(signed.nonce, terms.nonce)
      const written = Written(signed.payload)
      assert.deepStrictEqual(written.binding, binding)
      assert.strictEqual(written.authorization.nonce, terms.nonce)
    })
  )

  it("knows an asset by its address on its network, and no other", () => {
    const { asset } = exactEvm.client({ signer: account, network })
    const { requirements } = request()
    const { asset: _, ...unnamed } = requirements
    assert.strictEqual(asset({ ...requirements, asset: usdc.toLowerCase() })?.address, usdc)
    assert.isUndefined(asset(unnamed))
    for (const other of [
      payTo,
      "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
      "",
      "0x",
      usdc.replace("A02913", "a02913")
    ]) {
      assert.isUndefined(asset({ ...requirements, asset: other }), other)
    }
  })

  it.effect("does not pay to what is no recipient, and does not ask the wallet", () =>
    Effect.gen(function* () {
      const signer = { address: account.address, signTypedData: () => Promise.reject(new Error("asked")) }
      const { sign } = exactEvm.client({ signer, network })
      for (const recipient of ["0x0000000000000000000000000000000000000000", "0x12", "", "shop.eth"]) {
        const error = yield* Effect.flip(sign(request({ payTo: recipient })))
        assert.strictEqual(error._tag, "SigningFailed")
        assert.match(error.message, /recipient/)
      }
    })
  )

  it.effect("says that a wallet did not sign", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<() => Promise<unknown>> = [
        () => Promise.reject(new Error("User rejected the request")),
        () => Promise.reject(4001),
        () => {
          throw new TypeError("no provider")
        },
        async () => undefined,
        async () => null,
        async () => 27,
        async () => "",
        async () => "0x",
        async () => "0x1",
        async () => "signed",
        async () => `0x${"zz".repeat(65)}`,
        async () => `0x${"ab".repeat(4097)}`
      ]
      for (const answer of answers) {
        const signer = EvmSigner.fromEip1193({ request: answer }, account.address)
        const error = yield* Effect.flip(exactEvm.client({ signer, network }).sign(request()))
        assert.strictEqual(error._tag, "SigningFailed", String(answer))
      }
    })
  )

  it("pays on one network by its name, and on every one whose tokens it knows by eip155:*", () => {
    const one = exactEvm.client({ signer: account, network: "base" })
    assert.strictEqual(one.network, network)
    const all = exactEvm.client({ signer: account, network: "eip155:*" })
    assert.isUndefined(all.network)
    const offer = request().requirements
    for (const client of [one, all]) {
      assert.strictEqual(client.asset(offer)?.network, network)
      assert.isUndefined(client.asset({ ...offer, network: EvmNetwork.fromChainId(10) }), "Base's token on Optimism")
    }
    const onOptimism = {
      ...offer,
      network: EvmNetwork.fromChainId(10),
      asset: "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"
    }
    assert.isUndefined(one.asset(onOptimism))
    assert.strictEqual(all.asset(onOptimism)?.network, "eip155:10")
    assert.isUndefined(all.asset({ ...offer, network: EvmNetwork.fromChainId(5) }))
  })

  it("is not made of what is no network, no address, no asset", () => {
    assert.throws(() => exactEvm.client({ signer: account, network: "xase" }), Misconfigured)
    assert.throws(() => exactEvm.client({ signer: { ...account, address: "0x12" }, network }), Misconfigured)
    const asset = { network, address: "0x12", symbol: "X", decimals: 6, name: "X", version: "1" }
    assert.throws(() => exactEvm.client({ signer: account, network, assets: [asset] }), Misconfigured)
  })
})

/** The outcome of a start of a client of every network. */
const started = (limits: PaymentClient.Options["limits"]) =>
  PaymentClient.layer(limits === undefined ? {} : { limits }).pipe(
    Layer.provide([
      ClientSchemeRegistry.layer([exactEvm.client({ signer: account, network: "eip155:*" })]),
      PaymentJournal.layerMemory
    ]),
    Layer.build,
    Effect.scoped,
    Effect.as("started"),
    Effect.catch(({ message }) => Effect.succeed(message))
  )

describe("a client of every network", () => {
  it.effect.each([
    [{ base: { perDay: "$5" }, "eip155:42161": { perDay: "$1" } }, "started"],
    [
      { "eip155:845": { perDay: "$5" } },
      'limits.networks: expected a network that a scheme given here pays on, got "eip155:845"'
    ],
    [
      { "ton:mainnet": { perDay: "$5" } },
      'limits.networks: expected a network that a scheme given here pays on, got "ton:mainnet"'
    ]
  ] as const)("takes limits of the networks whose tokens it knows: %o", ([networks, outcome]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* started({ networks }), outcome)
    })
  )
})
