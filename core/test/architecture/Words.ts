/**
 * The words of the project, held: one word for one thing, the field's where it has one, and sentences that begin with their
 * noun. `apps/docs/glossary.md` lists the words that stay.
 */
import type { SourceFile } from "./SourceText.ts"

/** A metaphor that was replaced, as it stands in names and in sentences, and the word to use. */
const replaced: ReadonlyArray<readonly [RegExp, string]> = [
  [/(?<!pre|in[_-])flight/i, "lane transaction, or pending"],
  [/travell?er/i, "batched payment"],
  [/passenger/i, "observed payment"],
  [/\baboard\b/i, "tracked transaction"],
  [/airspace/i, "network spend"],
  [/stranded/i, "orphaned"],
  [/orphanedPayment/i, "set-aside payment"],
  [/replacedAt|checkReplaced|isReplacedForGood|looksBeforeReplaced/, "displaced: replaced is for our own dearer bytes"],
  [/\brooms\b/i, "folders: room is free space"],
  [/sighting/i, "observation"],
  [/\b(?:lane|transaction|flight)s? depart/i, "submit: money departs, to another network"],
  [/\bin the air\b|inTheAir/i, "pending"],
  [/notary/i, "challenge signer"],
  [/(?<![a-z])desk(?![a-z])/i, "the name of the service"],
  [/(?<![A-Za-z])tills?(?![a-z])/i, "the name of the service; on a page, checkout"],
  [
    /(?:settling|payer's|seller's) half\b|\bhal(?:f|ves) of (?:a|the|its) scheme/i,
    "scheme facilitator, client or server"
  ],
  [/[gG]asMoney/, "signer balance"],
  [/(?:Gate|Paid|Unpaid|Ungated|Tool|Rpc|Node|rpc)Answer/, "response"],
  [/Response(?:Keeper|Keeping|Copy)\b/, "ResponseSink, GrantedResponse, ResponseCapture"],
  [/\blandedIn\b/, "included"],
  [/Pretend(?=[A-Z])/, "fake"],
  [/@category/, "nothing: no reference is generated from it"]
]

/** Beginnings of sentences whose subject is a clause; a reader waits for the verb. */
const clause =
  /(?:^|[.!?:] )(?:What|Who|Whoever|Whatever|Whose|Whom|How (?:many|much|often|long|far|soon)|Nobody|Somebody)\b(?!\?)/

/** The title of a test or law whose subject is a clause. */
const clauseTitle = /\b(?:it|test|describe|law)(?:\.\w+)*\(\s*["`](?:what|who|whoever|whatever)\b[^"`]*/g

/** Amounts and people hidden in a word: the unit, the limit and the party have names. */
const hidden = /\bso (?:many|long|often|much)\b(?! as)|\b(?:nobody|somebody)\b/i

interface Comment {
  readonly line: number
  readonly text: string
}

const commentsOf = (text: string): ReadonlyArray<Comment> =>
  text.split("\n").flatMap((line, index) => {
    const comment = /^\s*(?:\/\*\*|\*|\/\/)\s?(.*)$/.exec(line)?.[1] ?? /\s\/\/ (.*)$/.exec(line)?.[1]
    return comment === undefined ? [] : [{ line: index + 1, text: comment.trim() }]
  })

/** Quotes the columns of an earlier release. */
const quotesOldNames = new Set(["adapters/sql/test/Upgrade.integration.test.ts"])

const isJudged = (path: string) =>
  !quotesOldNames.has(path) &&
  /^(?:core|schemes|adapters|apps)\/.*\.ts$/.test(path) &&
  !path.includes("/artifacts/") &&
  path !== "core/test/architecture/Words.ts" &&
  path !== "core/test/Architecture.test.ts"

/** Every name and sentence that uses a replaced word. */
export const wordBreaches = (project: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  project
    .filter(({ path }) => isJudged(path))
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) =>
        replaced.flatMap(([word, better]) => {
          const found = word.exec(line)?.[0]
          return found === undefined ? [] : [`${path}:${index + 1}: "${found}": say ${better}`]
        })
      )
    )

const commentBreaches = ({ path, text }: SourceFile): ReadonlyArray<string> =>
  commentsOf(text).flatMap(({ line, text: comment }) => {
    const found = clause.exec(comment)?.[0] ?? hidden.exec(comment)?.[0]
    return found === undefined ? [] : [`${path}:${line}: "${found.trim()}" in: ${comment}`]
  })

const titleBreaches = ({ path, text }: SourceFile): ReadonlyArray<string> =>
  Array.from(text.matchAll(clauseTitle), ([title]) => `${path}: begin with the noun: ${title}`)

/** Every comment that begins with a clause or hides an amount, and every title that begins with a clause. */
export const sentenceBreaches = (project: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const judged = project.filter(({ path }) => isJudged(path))
  return judged.flatMap(commentBreaches).concat(judged.flatMap(titleBreaches))
}
