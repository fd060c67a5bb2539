import { describe, it } from "@effect/vitest"
import { HostLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"

import * as NextSubject from "./NextSubject.ts"

describe("the laws of a host, kept by route handlers of Next", () => {
  for (const law of [...HostLaws.all, ...HostLaws.notRepeating]) {
    it.live(law.name, () => Effect.provideService(law.effect, HostLaws.Subject, NextSubject.make()))
  }
})
