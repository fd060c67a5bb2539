/** A form that was sent by POST, as the page's facts hold it: base64, which is data whatever a stranger has written. */
import { Paywall } from "@pontage/core"
import * as Base64 from "effect/encoding/Base64"

import type { PageForm } from "../PageFacts.ts"

const problems = { Elsewhere: "formElsewhere", TooLong: "formTooLong", Unread: "formUnread" } as const

/** The form for the page. */
export const of = (form: Paywall.PaywallForm): PageForm => {
  if (form._tag === "Kept") return { contentType: form.contentType, body: Base64.encode(form.body) }
  return { problem: problems[form._tag], limit: `${Paywall.maximumFormBytes / 1024 / 1024} MiB` }
}
