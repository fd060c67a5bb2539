/** The laws of a store of kept responses (`ResponseStore`): run each on a store of your own. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as Entropy from "../../platform/Entropy.ts"
import { ResponseStore } from "../../server/shop/ResponseStore.ts"
import { type Law, LawBroken, same, succeeds } from "../Law.ts"

type Store = ResponseStore["Service"]

const minute = 60_000

/** A law about the store of the context; each has names of its own, so that all hold one after another on one store. */
const law = (
  name: string,
  holds: (store: Store, fresh: Effect.Effect<string>, now: number) => Effect.Effect<void, unknown>
): Law<ResponseStore> => ({
  name,
  effect: Effect.gen(function* () {
    const store = yield* ResponseStore
    const fresh = Effect.map(Entropy.Entropy, Entropy.identifier)
    const held = yield* Effect.result(holds(store, fresh, yield* Clock.currentTimeMillis))
    if (held._tag === "Success") return
    return yield* held.failure instanceof LawBroken ? held.failure : succeeds(name, Effect.fail(held.failure))
  })
})

/** All laws. */
export const all: ReadonlyArray<Law<ResponseStore>> = [
  law("a kept text is found under its name, to the character, and under no other", (store, fresh, now) =>
    Effect.gen(function* () {
      const [name, other] = [yield* fresh, yield* fresh]
      const texts = ["a", `line\nline "quoted" \\ \u{1f600} \ufeff \u0001`, "x".repeat(300_000), ""]
      for (const text of texts) {
        yield* store.keep(name, text, now + minute)
        yield* same("the text", yield* store.find(name), text)
      }
      yield* same("another name's text", yield* store.find(other), undefined)
    })
  ),
  law("a text is gone at its end", (store, fresh, now) =>
    Effect.gen(function* () {
      const [over, ending, lasting] = [yield* fresh, yield* fresh, yield* fresh]
      yield* store.keep(over, "over", now - 1)
      yield* store.keep(ending, "ending", now)
      yield* store.keep(lasting, "lasting", now + minute)
      yield* same("a text that is over", yield* store.find(over), undefined)
      yield* same("a text at its end", yield* store.find(ending), undefined)
      yield* same("a text before its end", yield* store.find(lasting), "lasting")
    })
  ),
  law("of many that keep a first text under one name at once, one does, and all learn which", (store, fresh, now) =>
    Effect.gen(function* () {
      const name = yield* fresh
      const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`)
      const kept = yield* Effect.forEach(texts, (text) => store.keepFirst(name, text, now + minute), {
        concurrency: "unbounded"
      })
      yield* same("how many texts were kept", new Set(kept).size, 1)
      yield* same("the text", yield* store.find(name), kept[0])
    })
  ),
  law("a first text is kept in place of one whose time is over", (store, fresh, now) =>
    Effect.gen(function* () {
      const name = yield* fresh
      yield* same("the first", yield* store.keepFirst(name, "first", now - 1), "first")
      yield* same("the second", yield* store.keepFirst(name, "second", now + minute), "second")
      yield* same("the third", yield* store.keepFirst(name, "third", now + minute), "second")
    })
  ),
  law("a text is dropped by its name and itself only", (store, fresh, now) =>
    Effect.gen(function* () {
      const [name, other] = [yield* fresh, yield* fresh]
      yield* store.keep(name, "mine", now + minute)
      yield* store.keep(other, "mine", now + minute)
      yield* store.drop(name, "another's")
      yield* same("the text", yield* store.find(name), "mine")
      yield* store.drop(name, "mine")
      yield* same("the dropped text", yield* store.find(name), undefined)
      yield* same("the other text", yield* store.find(other), "mine")
    })
  )
]
