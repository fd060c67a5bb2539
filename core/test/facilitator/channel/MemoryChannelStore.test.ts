import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as MemoryChannelStore from "../../../src/facilitator/channel/MemoryChannelStore.ts"
import * as ChannelStoreLaws from "../../../src/testing/store/ChannelStoreLaws.ts"

describe("the laws of a channel store, in memory", () => {
  for (const { effect, name } of ChannelStoreLaws.all)
    it.effect(name, () => Effect.provide(effect, MemoryChannelStore.layer))
})
