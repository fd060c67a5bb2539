/**
 * Carries the acts of a plan out, and ends what they have begun.
 */
import type { Act } from "./SimulationPlan.ts"
import type { SimulationWorld } from "./SimulationWorld.ts"
import type { FacilitatorPlace } from "./world/FacilitatorPlaces.ts"
import type { WireWeather } from "./world/Wire.ts"

/** Has one act happen. */
export const carryOut = (world: SimulationWorld, act: Act): void => {
  const { calls, chain, places, story, strikes, time } = world
  story.tell(() => `trouble: ${wordsOf(act)}`)
  if (act._tag === "Chain") return chain.bring(act.trouble)
  if (act._tag === "Calls") {
    const wire = calls[act.shop % calls.length]
    return wire && weather(world, wire, act.state, act.millis)
  }
  const place = places[act.facilitator % places.length]
  if (place === undefined) return
  const process = place.running?.process
  switch (act._tag) {
    case "Kill":
      place.downUntil = time.now() + act.downMillis
      return process?.kill()
    case "Stop":
      place.downUntil = time.now() + act.downMillis
      return place.running?.stop()
    case "Freeze":
      return process?.freeze(act.millis)
    case "KillAt":
      return strikes.set(place.name, act.place, act.passing, () => {
        story.tell(() => `trouble: ${place.name} dies at ${act.place}`)
        place.downUntil = time.now() + act.downMillis
      })
    case "Configure":
      place.signers = act.signers
      place.batch = act.batch
      place.assets = act.assets ?? chain.assets.length
      return
    case "Skew":
      return skew(place, act.millis)
    case "Records":
      return weather(world, place.records, act.state, act.millis)
  }
}

const weather = ({ time }: SimulationWorld, wire: WireWeather, state: WireWeather["state"], millis: number): void => {
  wire.state = state
  time.after(millis, "a wire is mended", () => {
    if (wire.state === state) wire.state = "good"
  })
}

const skew = (place: FacilitatorPlace, millis: number): void => {
  place.skewMillis = millis
  const process = place.running?.process
  if (process !== undefined) process.skewMillis = millis
}

/** Ends all troubles. Changed configurations stay. */
export const calm = ({ calls, chain, places, story, strikes }: SimulationWorld): void => {
  story.tell(() => "the troubles are over")
  strikes.clear()
  chain.calm()
  for (const wire of calls) wire.state = "good"
  for (const place of places) {
    place.records.state = "good"
    place.records.lost = 0
    place.downUntil = 0
    skew(place, 0)
  }
}

/** Duration of its trouble, in milliseconds; for a trouble without a fixed time, the longest wait for it. */
export const durationOf = (act: Act): number => {
  if (act._tag === "Chain") return "millis" in act.trouble ? act.trouble.millis : 1000
  if (act._tag === "Configure") return 1000
  if (act._tag === "KillAt") return act.downMillis + 10_000
  if (act._tag === "Skew") return 10_000
  return "downMillis" in act ? act.downMillis : act.millis
}

/** An act in words. */
export const wordsOf = (act: Act): string => {
  const { _tag, at, ...rest } = act
  return `${_tag} ${JSON.stringify(rest)} (planned for ${at / 1000} s)`
}
