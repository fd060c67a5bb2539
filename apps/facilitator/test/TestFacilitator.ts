/**
 * A facilitator that answers what a test tells it, and the service in front of it on a free port.
 */
import {
  type Claim,
  Facilitator,
  FacilitatorClient,
  FacilitatorSchemeRegistry,
  invalid,
  Network,
  PaymentStore,
  type PaymentRequest,
  Signals,
  type Scheme,
  type SchemeFacilitator,
  type Settled,
  type Settlement,
  type SignerBalance,
  type ChainUnavailable
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"

import * as FacilitatorServer from "../src/api/FacilitatorServer.ts"

export const network = Network.make("eip155:8453")
/** A second network. */
export const otherNetwork = Network.make("eip155:10")
export const paymentId = "pay_0123456789abcdefghijkl"
export const payer = "0x2222222222222222222222222222222222222222"
export const payTo = "0x1111111111111111111111111111111111111111"

export const claim: Claim = {
  id: "AAAAAAAAAAAAAAAAAAAAAA",
  resource: "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
}

export const request: PaymentRequest = {
  paymentPayload: { protocolVersion: 2, scheme: "exact", network, payload: "e30=" },
  paymentRequirements: {
    scheme: "exact",
    network,
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo
  }
}

export const body = { protocolVersion: 2, ...request }

export const settled: Settled = {
  paymentId,
  status: "included",
  execution: "granted",
  transaction: "0xabc",
  network,
  payer,
  payTo,
  asset: "0x3333333333333333333333333333333333333333",
  amount: "10000"
}

export const record: Settlement.PaymentRecord = {
  paymentId,
  status: "included",
  network,
  asset: "0x3333333333333333333333333333333333333333",
  payer,
  payTo,
  amount: "10000",
  transaction: "0xabc",
  execution: "running",
  runs: 1,
  history: [{ status: "accepted", at: 1, note: "taken in" }]
}

export const stored: PaymentStore.StoredPayment = {
  paymentId,
  requirements: request.paymentRequirements,
  authorization: {
    payer,
    payTo,
    asset: record.asset,
    amount: 10_000n,
    nonce: "0xnonce",
    validAfter: 0,
    validBefore: 1_700_000_060,
    binding: undefined
  },
  payload: {},
  caller: "",
  notify: false,
  serial: 7n,
  status: "included",
  transaction: "0xabc",
  block: { number: 12n, hash: "0xb10c" },
  lane: undefined,
  laneNumber: undefined,
  since: undefined,
  refusal: undefined,
  execution: {
    resource: claim.resource,
    route: undefined,
    holder: undefined,
    served: true,
    refused: false,
    count: 1,
    releasedAt: undefined
  },
  answerOwed: false,
  history: [{ status: "accepted", at: 1, note: "taken in" }]
}

type Shape = Facilitator["Service"]
type Store = PaymentStore.PaymentStore["Service"]

const unasked = () => Effect.die("the test does not expect this question")

/** A store with these methods; any other is a defect. */
export const store = (methods: Partial<Store>): Store =>
  PaymentStore.PaymentStore.of({
    signals: Signals.make(),
    now: Clock.currentTimeMillis,
    find: () => Effect.undefined,
    claim: unasked,
    queue: unasked,
    openPayments: unasked,
    finish: unasked,
    takeAnswer: unasked,
    returnAnswer: unasked,
    loads: () => Effect.succeed(new Map()),
    queued: () => Effect.succeed([]),
    queuedInTurn: () => Effect.succeed([]),
    lanesInUse: Effect.succeed([]),
    waitingBy: () => Effect.succeed([]),
    openTransactions: () => Effect.succeed([]),
    openLane: unasked,
    skipTo: unasked,
    fillGap: unasked,
    plan: unasked,
    replace: unasked,
    record: unasked,
    unwanted: () => Effect.succeed([]),
    endUnwanted: unasked,
    spent: () => Effect.succeed(0n),
    books: () => Effect.succeed({ spent: new Map(), open: [] }),
    page: () => Effect.succeed([]),
    takeNotices: () => Effect.succeed([]),
    closeNotice: () => Effect.void,
    probe: Effect.void,
    giveUpNotices: () => Effect.succeed(new Map()),
    forget: () => Effect.succeed({ count: 0, next: undefined }),
    noticeBacklog: Effect.succeed({ count: 0, oldest: undefined }),
    undelivered: () => Effect.succeed([]),
    deliver: unasked,
    openDeliveries: Effect.succeed([]),
    ...methods
  })

const unanswered = () => Effect.fail(invalid("malformed", "unexpected", "the test does not expect this call"))

/** A facilitator with these methods; any other refuses. */
export const facilitator = (methods: Partial<Shape>): Shape =>
  Facilitator.of({
    verify: unanswered,
    settle: unanswered,
    claim: unanswered,
    finish: unanswered,
    payment: () => Effect.die("the service asks the records themselves"),
    supported: Effect.succeed({ kinds: [], signers: {} }),
    ...methods
  })

/** A family whose addresses are texts without regard to case. */
const scheme: Scheme = {
  name: "exact",
  family: "eip155",
  network: (text) => (Network.isNetwork(text) ? text : undefined),
  address: (text) => (text.startsWith("0x") ? text.toLowerCase() : undefined)
}

const unused = () => Effect.die("the service uses no chain by itself")

/** A scheme facilitator that only has signers. */
export const schemeWith = (
  signers: Effect.Effect<ReadonlyArray<SignerBalance>, ChainUnavailable>,
  methods: Partial<SchemeFacilitator> = {}
): SchemeFacilitator => ({
  scheme,
  network,
  lanes: [],
  read: unused,
  verify: unused,
  balance: unused,
  nextSlot: () => Effect.succeed(0n),
  chainHead: Effect.die("the service uses no chain by itself"),
  isCanonical: unused,
  prepare: unused,
  noop: unused,
  submit: unused,
  observe: unused,
  conclude: unused,
  signers,
  ...methods
})

export interface TestService extends FacilitatorServer.Running {
  readonly client: Shape
  readonly get: (path: string, headers?: Record<string, string>) => Effect.Effect<Response>
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Effect.Effect<Response>
}

/** These schemes, registered; also none, which no facilitator of its own would take. */
export const registered = (schemes: ReadonlyArray<SchemeFacilitator>) =>
  schemes.length > 0
    ? FacilitatorSchemeRegistry.layer(schemes.map((scheme) => Effect.succeed(scheme)))
    : Layer.succeed(FacilitatorSchemeRegistry.FacilitatorSchemeRegistry, {
        schemes,
        find: () => undefined,
        findOpen: () => undefined
      })

/** The service on a facilitator with these methods. Each has its own metrics. */
export const start = Effect.fnUntraced(function* (
  methods: Partial<Shape>,
  options: FacilitatorServer.Options = {},
  schemes: ReadonlyArray<SchemeFacilitator> = [schemeWith(Effect.succeed([]))],
  records: Partial<Store> = {}
) {
  const inside = Layer.mergeAll(
    Layer.succeed(Facilitator, facilitator(methods)),
    registered(schemes),
    Layer.succeed(PaymentStore.PaymentStore, store(records)),
    Layer.succeed(Metric.MetricRegistry, new Map()),
    Logger.layer([])
  )
  const running = yield* Effect.provide(FacilitatorServer.serve({ port: 0, ...options }), inside)
  const client = yield* FacilitatorClient.make({ url: running.url })
  const send = (path: string, init: RequestInit) => Effect.promise(() => fetch(running.url + path, init))
  const service: TestService = {
    ...running,
    client,
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, body, headers) =>
      send(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body)
      })
  }
  return service
})

/** The test's clock with a wall clock that can be set: `set` takes the milliseconds that it is ahead. */
export const wallClock = Effect.map(Clock.Clock, (clock) => {
  let ahead = 0
  const settable: Clock.Clock = {
    currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + ahead),
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead,
    currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n),
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n,
    monotonicTimeNanos: clock.monotonicTimeNanos,
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    sleep: (duration) => clock.sleep(duration)
  }
  return { set: (millis: number) => void (ahead = millis), withIt: Effect.provideService(Clock.Clock, settable) }
})

/** The JSON of a response. */
export const json = (response: Response): Effect.Effect<unknown> => Effect.promise(() => response.json())
