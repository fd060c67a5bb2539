import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { type CallToolResult, CallToolRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js"
import type { Settlement } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { afterEach, assert, describe, it } from "vitest"

import * as FakeScheme from "../../../core/test/server/FakeScheme.ts"
import { payTools, type PayingToolsOptions, receiptOf, type ToolTerms } from "../src/index.ts"
import * as FakeTools from "./FakeTools.ts"
import * as LedgerTools from "./LedgerTools.ts"

/** Tools and the Machine Payments Protocol: our server by hand-made credentials, our client at a hand-made server. */
const keys = {
  required: "org.paymentauth/payment-required",
  credential: "org.paymentauth/credential",
  receipt: "org.paymentauth/receipt"
} as const

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

interface Challenge {
  readonly [name: string]: unknown
}

interface Required {
  readonly httpStatus: number
  readonly challenges: ReadonlyArray<Challenge>
  readonly problem?: { readonly type: string }
}

const identity = { name: "test", version: "1.0.0" }

const connect = async (server: { readonly connect: (there: InMemoryTransport) => Promise<void> }, client: Client) => {
  const [here, there] = InMemoryTransport.createLinkedPair()
  await server.connect(there)
  await client.connect(here)
  closing.push(() => client.close())
}

/** Our server with a tool that counts its runs, and a client that may have announced the protocol. */
const open = async ({ announces = false, terms = {} }: { announces?: boolean; terms?: Partial<ToolTerms> } = {}) => {
  const { facilitator, shop } = FakeTools.make()
  closing.push(() => shop.close())
  const server = new McpServer(identity)
  const runs: Array<unknown> = []
  for (const name of ["echo", "other"]) {
    shop.paid({ ...FakeTools.terms, ...terms } as ToolTerms).registerTool(server, name, {}, () => {
      runs.push(name)
      return { content: [{ type: "text", text: "sold" }] }
    })
  }
  const capabilities = announces ? { experimental: { payment: { methods: {} } } } : {}
  const client = new Client(identity, { capabilities })
  await connect(server, client)
  await shop.ready()
  return { client, facilitator, runs }
}

const requiredIn = ({ _meta }: CallToolResult): Required => _meta?.[keys.required] as Required

const challengeOf = async (client: Client, name = "echo"): Promise<Challenge> => {
  const [challenge] = requiredIn(await FakeTools.call(client, name)).challenges
  if (challenge === undefined) throw new Error("expected a challenge")
  return challenge
}

const credential = (challenge: Challenge, changes: object = {}) => ({
  [keys.credential]: {
    challenge,
    payload: {
      type: "authorization",
      from: `0x${"b0".repeat(20)}`,
      to: FakeScheme.alice,
      value: "10000",
      validAfter: "0",
      validBefore: "100",
      nonce: `0x${"00".repeat(32)}`,
      signature: "0x00",
      ...changes
    }
  }
})

/** A request to settle a payment that may be new; others are about payments on record alone. */
const isNew = (told: FakeTools.FakeTools["facilitator"]["told"][number]): boolean =>
  told.ask === "settle" && told.claim?.onlyKnown !== true

const errorOf = async (call: Promise<unknown>): Promise<{ readonly code: number; readonly data: Required }> => {
  const error = await LedgerTools.rejection(call)
  assert.instanceOf(error, McpError)
  return error as unknown as { readonly code: number; readonly data: Required }
}

describe("a sold tool", () => {
  it("has challenges beside the offers of x402, whose request is plain JSON, and says so to its clients", async () => {
    const { client } = await open()
    const result = await FakeTools.call(client, "echo")
    assert.strictEqual(FakeTools.requestIn(result).x402Version, 2)
    const { challenges, httpStatus } = requiredIn(result)
    assert.strictEqual(httpStatus, 402)
    assert.lengthOf(challenges, 1)
    const { id, expires, ...rest } = challenges[0] ?? {}
    assert.match(String(id), /^[\w-]{65}$/)
    assert.isNotNaN(Date.parse(String(expires)))
    assert.deepInclude(rest, { realm: "shop.example", method: "evm", intent: "charge" })
    assert.deepInclude(rest["request"] as object, { amount: "10000", recipient: FakeScheme.alice })
    const { experimental } = client.getServerCapabilities() ?? {}
    assert.deepStrictEqual(experimental, { payment: { methods: { evm: { intents: ["charge"] } } } })
    assert.notStrictEqual((await challengeOf(client))["id"], id)
  })

  it("is sold for a credential, with a receipt that names its challenge, beside that of x402", async () => {
    const { client, facilitator, runs } = await open()
    const challenge = await challengeOf(client)
    const result = await FakeTools.call(client, "echo", {}, credential(challenge))
    assert.deepStrictEqual(result.content, [{ type: "text", text: "sold" }])
    assert.deepInclude(result._meta?.[keys.receipt] as object, {
      method: "evm",
      status: "success",
      challengeId: challenge["id"],
      chainId: 8453
    })
    assert.isDefined(receiptOf(result))
    assert.lengthOf(runs, 1)
    assert.lengthOf(facilitator.told.filter(isNew), 1)
  })

  it("is not sold for a credential of another challenge, realm, amount, payee, chain or tool", async () => {
    const { client, facilitator, runs } = await open()
    const challenge = await challengeOf(client)
    const request = challenge["request"] as object
    const other = await challengeOf(client, "other")
    const id = String(challenge["id"])
    const wrong: ReadonlyArray<readonly [string, Challenge]> = [
      ["id", { ...challenge, id: `${id.slice(0, -1)}${id.endsWith("A") ? "B" : "A"}` }],
      ["foreign id", { ...challenge, id: "x" }],
      ["realm", { ...challenge, realm: "other.example" }],
      ["amount", { ...challenge, request: { ...request, amount: "1" } }],
      ["payee", { ...challenge, request: { ...request, recipient: `0x${"77".repeat(20)}` } }],
      ["chain", { ...challenge, request: { ...request, methodDetails: { chainId: 1 } } }],
      ["tool", other]
    ]
    for (const [what, one] of wrong) {
      // oxlint-disable-next-line no-await-in-loop -- one after another, as a client would
      const { code, data } = await errorOf(FakeTools.call(client, "echo", {}, credential(one)))
      assert.strictEqual(code, -32_043, what)
      assert.strictEqual(data.httpStatus, 402, what)
      assert.lengthOf(data.challenges, 1, what)
      assert.match(data.problem?.type ?? "", /^https:\/\/paymentauth\.org\/problems\//)
    }
    assert.lengthOf(runs, 0)
    assert.lengthOf(facilitator.told.filter(isNew), 0)
  })

  it("refuses what is no credential, and one that comes beside a payment of x402", async () => {
    const { client, runs } = await open()
    const challenge = await challengeOf(client)
    const x402 = FakeTools.paymentFor(FakeTools.requestIn(await FakeTools.call(client, "echo")))
    const deep = JSON.parse(`${'{"a":'.repeat(40)}1${"}".repeat(40)}`)
    for (const meta of [
      { [keys.credential]: "Payment x" },
      { [keys.credential]: null },
      { [keys.credential]: { challenge, payload: { type: "hash" } } },
      { [keys.credential]: { ...credential(challenge)[keys.credential], more: "x".repeat(9000) } },
      { [keys.credential]: { ...credential(challenge)[keys.credential], deep } },
      { ...x402, ...credential(challenge) }
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another, as a client would
      const { code } = await errorOf(FakeTools.call(client, "echo", {}, meta))
      assert.include([-32_602, -32_043], code)
    }
    assert.lengthOf(runs, 0)
  })

  it("is refused by an error to clients that announce the protocol", async () => {
    const { client } = await open({ announces: true })
    const { code, data } = await errorOf(FakeTools.call(client, "echo"))
    assert.strictEqual(code, -32_042)
    assert.lengthOf(data.challenges, 1)
    assert.isUndefined(data.problem)
  })

  it("without bound payments has no challenges", async () => {
    const { client } = await open({ terms: { binding: "off" } })
    const result = await FakeTools.call(client, "echo")
    assert.isUndefined(result._meta?.[keys.required])
    assert.isUndefined(client.getServerCapabilities()?.experimental)
  })
})

const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

const offered = (changes: object = {}): Challenge => ({
  id: "an id of the server's own",
  realm: "shop",
  method: "evm",
  intent: "charge",
  request: {
    amount: "10000",
    currency: usdc,
    recipient: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    methodDetails: { chainId: 8453, credentialTypes: ["authorization"] },
    externalId: "kept as it came"
  },
  expires: "2100-01-01T00:00:00.000Z",
  ...changes
})

const demand = (challenge: Challenge, code = -32_042, more: object = {}) =>
  new McpError(code, "Payment Required", { httpStatus: 402, challenges: [challenge], ...more })

interface Credential {
  readonly challenge: Challenge
  readonly payload: Readonly<Record<string, string>>
}

/** A server of the protocol, which answers credentials one after another, and our client at it. */
const foreign = async (
  unpaid: () => CallToolResult,
  answers: ReadonlyArray<(paid: Credential) => CallToolResult>,
  options: Partial<PayingToolsOptions> = {}
) => {
  const credentials: Array<Credential> = []
  const receipts: Array<Settlement.Settlement> = []
  const server = new Server(identity, { capabilities: { tools: {} } })
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const sent = params._meta?.[keys.credential] as Credential | undefined
    if (sent === undefined) return unpaid()
    credentials.push(sent)
    const answer = answers[Math.min(credentials.length, answers.length) - 1]
    if (answer === undefined) throw new Error("no answer")
    return answer(sent)
  })
  const client = new Client(identity)
  await connect(server, client)
  const signer = exactEvm.localSigner(`0x${"11".repeat(32)}`)
  const tools = payTools(client, {
    server: "shop",
    schemes: [exactEvm.client({ signer, network: "eip155:8453" })],
    onPayment: (receipt) => void receipts.push(receipt),
    ...options
  })
  return { credentials, receipts, call: () => tools.callTool({ name: "analysis", arguments: {} }) }
}

const throwing = (error: Error) => (): never => {
  throw error
}

const served = ({ challenge }: Credential): CallToolResult => ({
  content: [{ type: "text", text: "served" }],
  _meta: {
    [keys.receipt]: { method: "evm", reference: "0xabc", status: "success", challengeId: challenge["id"] }
  }
})

describe("a server of the Machine Payments Protocol", () => {
  it("is paid for its error, with its challenge repeated as it came", async () => {
    const challenge = offered()
    const { call, credentials, receipts } = await foreign(throwing(demand(challenge)), [served])
    assert.deepStrictEqual((await call()).content, [{ type: "text", text: "served" }])
    assert.lengthOf(credentials, 1)
    assert.deepStrictEqual(credentials[0]?.challenge, challenge)
    assert.deepInclude(credentials[0]?.payload, { type: "authorization", value: "10000", validAfter: "0" })
    assert.lengthOf(receipts, 1)
    assert.deepInclude(receipts[0], { transaction: "0xabc", network: "eip155:8453", amount: "10000" })
  })

  it("is paid for a result that carries its challenges", async () => {
    const result: CallToolResult = {
      content: [],
      _meta: { [keys.required]: { httpStatus: 402, challenges: [offered()] } }
    }
    const { call, credentials } = await foreign(() => result, [served])
    await call()
    assert.lengthOf(credentials, 1)
  })

  it("that refuses is not signed for again, and its problem is the error", async () => {
    const problem = { type: "https://paymentauth.org/problems/payment-expired", detail: "too late", status: 402 }
    const refuse = throwing(demand(offered({ id: "two" }), -32_043, { problem }))
    const { call, credentials } = await foreign(throwing(demand(offered())), [refuse])
    const error = await LedgerTools.rejection(call())
    assert.deepInclude(error, { _tag: "PaymentError", code: "EXPIRED_PAYMENT" })
    await LedgerTools.rejection(call())
    assert.strictEqual(new Set(credentials.map(({ payload }) => payload["nonce"])).size, 1)
  })

  it.each([
    ["another host", offered({ realm: "other.example" })],
    ["an expired challenge", offered({ expires: "2000-01-01T00:00:00.000Z" })],
    ["another method", offered({ method: "tempo" })],
    ["half of a character", offered({ id: "\ud800" })]
  ])("is paid nothing for %s", async (_, challenge) => {
    const { call, credentials } = await foreign(throwing(demand(challenge)), [served])
    await LedgerTools.rejection(call())
    assert.lengthOf(credentials, 0)
  })

  it("whose error is about something else is left alone", async () => {
    for (const error of [
      new McpError(-32_602, "wrong arguments", { field: "ticker" }),
      new McpError(-32_042, "open a page", { elicitations: [] }),
      new McpError(-32_000, "no", { httpStatus: 402, challenges: [offered()] })
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      const { call, credentials } = await foreign(throwing(error), [served])
      // oxlint-disable-next-line no-await-in-loop -- one after another
      assert.instanceOf(await LedgerTools.rejection(call()), McpError)
      assert.lengthOf(credentials, 0)
    }
  })
})
