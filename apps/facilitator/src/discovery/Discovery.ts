/**
 * The list of resources that were sold here, for buyers and their agents (x402's "bazaar"). A settled payment only gives the
 * occasion: the resource is then requested without a payment, and listed as its own 402 response describes it. The list is in
 * memory; after a start each resource comes back with its next settled payment.
 */
import { FacilitatorSchemeRegistry, OptionCheck } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"

import * as DiscoveredResource from "./DiscoveredResource.ts"
import * as ListedUrl from "./ListedUrl.ts"
import * as ResourceList from "./ResourceList.ts"
import * as UnpaidRequest from "./UnpaidRequest.ts"

/** Options of the list. */
export interface Options {
  /** Origins whose resources are listed, for example `https://shop.example`. */
  readonly origins: ReadonlyArray<string>
  /** Whether they may be in private networks and plain http; default false. */
  readonly allowPrivate?: boolean
  /**
   * URLs to which, and below which, a POST without a payment may be sent to read the offer of a resource that is not sold by GET;
   * default none. A payer names the resource, so a POST must lead nowhere where it could do anything.
   */
  readonly posts?: ReadonlyArray<string>
}

/** Maximum number of origins, and of URLs for POST. */
export const maximumOrigins = 100

/** Checks the options. */
export const check: OptionCheck.Check<Options> = OptionCheck.options<Options>({
  origins: OptionCheck.filled(OptionCheck.text, "name an origin, or leave the option out for no list"),
  allowPrivate: OptionCheck.optional(OptionCheck.flag),
  posts: OptionCheck.optional(OptionCheck.filled(OptionCheck.text, "name a URL, or leave the option out for no POST"))
})

/** Reason to refuse the options; `undefined` if there is none. It does not show an origin, which may contain credentials. */
export const objection = ({ allowPrivate = false, origins }: Options): string | undefined =>
  objectionsTo("origin", origins, (origin) => ListedUrl.objection(origin, allowPrivate))

/** Reason to refuse the URLs for POST; `undefined` if there is none. */
export const postObjection = ({ origins, posts = [] }: Options): string | undefined =>
  objectionsTo("URL", posts, (post) => ListedUrl.postObjection(post, origins))

const objectionsTo = (
  what: string,
  texts: ReadonlyArray<string>,
  objectionTo: (text: string) => string | undefined
): string | undefined => {
  if (texts.length > maximumOrigins) return `there are ${texts.length} ${what}s, at most ${maximumOrigins} are taken`
  const objections = texts.flatMap((text, index) => {
    const problem = objectionTo(text)
    return problem === undefined ? [] : [`${what} ${index + 1} ${problem}`]
  })
  return objections.length === 0 ? undefined : objections.join("; ")
}

/** The list; `page` is absent where the service has none. */
export class Discovery extends Context.Service<
  Discovery,
  {
    /** Looks at the resource of a settled payment, in the background. */
    readonly settled: (payment: DiscoveredResource.SettledPayment) => Effect.Effect<void>
    readonly page?: (query: ResourceList.Query) => Effect.Effect<typeof ResourceList.Page.Type>
  }
>()("@pontage/facilitator/Discovery") {}

/** Maximum number of resources of one origin that wait to be requested; further ones wait for their next payment. */
const maximumWaiting = 16

/** Interval between two requests to one resource, in milliseconds. */
const intervalMillis = 10 * 60_000

/** Maximum number of payments and of resources that are remembered, so that one payment lists one resource once. */
const maximumRemembered = 10_000

interface Waiting {
  /** The resource with the payee and the token, so that a payment to another payee neither delays nor removes it. */
  readonly key: string
  readonly url: URL
  readonly payment: DiscoveredResource.SettledPayment
}

/** The resources of one origin that wait to be requested. */
interface Queue {
  readonly waiting: Array<Waiting>
  isBusy: boolean
}

/** The time of the last request to a resource (Unix milliseconds), and the key of its entry. */
interface Seen {
  readonly at: number
  readonly entry?: string
}

/** The list of these options; without options there is none. */
export const layer = (
  options: Options | undefined
): Layer.Layer<Discovery, never, FacilitatorSchemeRegistry.FacilitatorSchemeRegistry> =>
  options === undefined
    ? Layer.succeed(Discovery, { settled: () => Effect.void })
    : Layer.effect(Discovery, make(options))

const make = Effect.fnUntraced(function* ({ allowPrivate = false, origins: listed, posts = [] }: Options) {
  const { schemes } = yield* FacilitatorSchemeRegistry.FacilitatorSchemeRegistry
  const fibers = yield* FiberSet.make<void>()
  const terms: ListedUrl.ListedOrigins = { origins: new Set(listed), allowPrivate }
  const send = UnpaidRequest.make(allowPrivate)
  const list = ResourceList.make()
  const payments = remembered<true>()
  const seen = remembered<Seen>()
  const queues = new Map<string, Queue>()

  const look = Effect.fnUntraced(function* ({ key, payment, url }: Waiting) {
    const response = yield* send(url, ListedUrl.mayPost(url, posts))
    if (response === undefined) return
    const now = yield* Clock.currentTimeMillis
    const { offer, status } = response
    const offered = status === 402 ? DiscoveredResource.read(offer) : undefined
    const resource = offered && DiscoveredResource.fromOffer(offered, { url, payment, schemes }, now)
    const before = seen.get(key)?.entry
    if (resource !== undefined) {
      const entry = list.put(url, resource, now)
      seen.set(key, { at: now, ...(entry !== undefined && { entry }) })
    } else if (before !== undefined && (offered === "optedOut" || isGone(status))) {
      list.remove(url.origin, before)
    }
  })

  /** Requests the waiting resources of an origin one after another. */
  const drain = (queue: Queue): Effect.Effect<void> =>
    Effect.suspend(() => {
      const next = queue.waiting.shift()
      queue.isBusy = next !== undefined
      return next === undefined ? Effect.void : Effect.andThen(Effect.catchDefect(look(next), warn), drain(queue))
    })

  return {
    settled: Effect.fnUntraced(function* (payment: DiscoveredResource.SettledPayment) {
      const url = ListedUrl.read(payment.resource, terms)
      if (url === undefined || payments.get(payment.paymentId) !== undefined) return
      const key = JSON.stringify([url.href, payment.network, payment.payTo, payment.asset])
      const now = yield* Clock.currentTimeMillis
      const before = seen.get(key)
      if (before !== undefined && now - before.at < intervalMillis) return
      const queue = queues.get(url.origin) ?? { waiting: [], isBusy: false }
      queues.set(url.origin, queue)
      if (queue.waiting.length >= maximumWaiting) return
      payments.set(payment.paymentId, true)
      seen.set(key, { ...before, at: now })
      queue.waiting.push({ key, payment, url })
      if (queue.isBusy) return
      queue.isBusy = true
      yield* FiberSet.run(fibers, drain(queue))
    }),
    page: (query: ResourceList.Query) => Effect.map(Clock.currentTimeMillis, (now) => list.page(query, now))
  }
})

const isGone = (status: number): boolean => status === 404 || status === 410

const warn = (defect: unknown) => Effect.logWarning("a resource could not be read for the list", defect)

/** A map that forgets its oldest entry when it is full. */
const remembered = <A>() => {
  const entries = new Map<string, A>()
  return {
    get: (key: string): A | undefined => entries.get(key),
    set: (key: string, value: A): void => {
      entries.delete(key)
      entries.set(key, value)
      const [oldest] = entries.size > maximumRemembered ? entries.keys() : []
      if (oldest !== undefined) entries.delete(oldest)
    }
  }
}
