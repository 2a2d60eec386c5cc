// Types of signoff's documents, made from the JSON Schemas beside this file.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Criteria that were agreed before the work; `lock` makes them binding. */
export interface Contract {
  /** For editors; dropped when it is locked. */
  readonly "$schema"?: string;
  /** Name of the contract. */
  readonly id: string;
  /** What must hold, in the order of the report. */
  readonly criteria: readonly (Criterion)[];
  /** What it is about, for people. */
  readonly title?: string;
  /** Lowest isolation level for checks that start commands. */
  readonly min_isolation?: "L0" | "L1" | "L2" | "L3";
}

/** One thing that must hold. */
export interface Criterion {
  /** Unique within its contract. */
  readonly id: string;
  /** Id of a registered verifier. */
  readonly verifier: string;
  /** The verifier's parameters, bound when the contract is locked. */
  readonly params?: { readonly [key: string]: Json };
  /** What it means, for people. */
  readonly description?: string;
  /** false makes it advisory: reported, never deciding. */
  readonly required?: boolean;
}

/** `contract.lock.json`: a contract, its digest, and what it was locked against. */
export interface LockFile {
  /** `signoff-lock/1`. */
  readonly format: "signoff-lock/1";
  /** The contract, held to the same rules as one that is not locked. */
  readonly contract: Contract;
  /** Digest of the contract's canonical form. */
  readonly digest: string;
  /** Each verifier's id with the name and version of what provides it. */
  readonly verifiers: { readonly [key: string]: string };
  /** What a person should know, such as unknown schema keywords. */
  readonly warnings: readonly (string)[];
}

/** Everything that was found out about one subject under one contract. */
export interface Report {
  /** Id of the contract. */
  readonly contract_id: string;
  /** Digest of the locked contract. */
  readonly contract_digest: string;
  /** Digest of the output's canonical form; null without output. */
  readonly output_digest: string | null;
  /** One result for each criterion, in contract order. */
  readonly results: readonly (Result)[];
  /** What the required ones come to. */
  readonly verdict: Verdict;
  /** Wall-clock time of the start, UTC; orders nothing. */
  readonly started: string;
  /** Seconds it took, by the monotonic clock. */
  readonly elapsed_s: number;
  /** Names and versions of the programs that decided. */
  readonly engines: { readonly [key: string]: string };
  /** Lowest level under which a command ran; null when none was started. */
  readonly isolation: "L0" | "L1" | "L2" | "L3" | null;
  /** Weakest of what shows that the commands did what they were to do, likewise. */
  readonly assurance: "exit_code" | "report" | "report+canaries" | null;
  /** What those levels should give and the machine does not, a sentence each. */
  readonly missing: readonly (string)[];
  /** Everything that was made less strict. */
  readonly weakened: readonly (string)[];
  /** What a person should know. */
  readonly warnings: readonly (string)[];
}

/** Why something could not be established; a closed list, which every dialect translates. */
export type Cause = "command_failed" | "command_denied" | "timed_out" | "output_limit" | "no_tests" | "report_mismatch" | "isolation_unavailable" | "bad_output" | "evidence_missing" | "evidence_corrupt" | "evidence_unreachable" | "evidence_denied" | "evidence_timed_out" | "not_recorded" | "no_such_verifier" | "bad_params" | "not_installed" | "verifier_broke" | "no_result";

/** Bytes that were kept, by digest. */
export interface Evidence {
  /** `sha256:` and the hex digest of the bytes. */
  readonly digest: string;
  /** Number of bytes. */
  readonly size: number;
  /** RFC 9110 media type. */
  readonly media_type?: string;
  /** What it was called when it was recorded. */
  readonly name?: string;
}

/** What a check says about a subject. */
export interface Finding {
  /** Whether it holds. */
  readonly status: Status;
  /** The measured value or the problem, in one line. */
  readonly detail: string;
  /** RFC 6901 pointer into the whole output, `""` for all of it; null when the finding is not about a place in the output. */
  readonly at?: string | null;
  /** A finite number, or null. */
  readonly score?: number | null;
  /** Why it could not be established, where that is so. */
  readonly cause?: Cause | null;
  /** What backs the finding. */
  readonly evidence?: readonly (Evidence)[];
  /** Further facts as JSON. */
  readonly data?: Json;
  /** Level under which a command ran for it; null when none was started. */
  readonly isolation?: "L0" | "L1" | "L2" | "L3" | null;
  /** What shows that the command did what it was to do, likewise. */
  readonly assurance?: "exit_code" | "report" | "report+canaries" | null;
  /** What that level should give and the machine does not, a sentence each. */
  readonly missing?: readonly (string)[];
}

/** What a whole contract comes to, best first. */
export type Outcome = "passed" | "inconclusive" | "failed";

/** The answer to one criterion. */
export interface Result {
  /** The criterion's id. */
  readonly criterion: string;
  /** What the check said, or what the engine says of the check. */
  readonly finding: Finding;
  /** Seconds the check took, by the monotonic clock. */
  readonly elapsed_s: number;
}

/** What became of one criterion, mildest first. */
export type Status = "pass" | "warn" | "inconclusive" | "skipped" | "error" | "fail";

/** What a contract comes to. */
export interface Verdict {
  /** Passed, inconclusive or failed. */
  readonly outcome: Outcome;
  /** Cause of the first of the worst blockers, or null. */
  readonly cause: Cause | null;
  /** Ids of the required criteria that do not hold, in contract order. */
  readonly blockers: readonly (string)[];
}

/** `verdict.json`: the verdict, and the digest of everything that it rests on. */
export interface VerdictFile {
  /** `signoff-verdict/1`. */
  readonly format: "signoff-verdict/1";
  /** Passed, inconclusive or failed. */
  readonly outcome: Outcome;
  /** Cause of the first of the worst blockers, or null. */
  readonly cause: Cause | null;
  /** Ids of the required criteria that do not hold, in contract order. */
  readonly blockers: readonly (string)[];
  /** Id of the contract. */
  readonly contract_id: string;
  /** Digest of the locked contract. */
  readonly contract_digest: string;
  /** Digest of the output's canonical form; null without output. */
  readonly output_digest: string | null;
  /** Digest of the bytes of each other file of the run. */
  readonly files: { readonly [key: string]: string };
  /** Size of each piece of evidence, by digest. */
  readonly evidence: { readonly [key: string]: number };
  /** Names and versions of the programs that decided. */
  readonly engines: { readonly [key: string]: string };
  /** Time of day at which judging began, UTC; orders nothing. */
  readonly when: string;
  /** Lowest level under which a command ran; null when none was started. */
  readonly isolation: "L0" | "L1" | "L2" | "L3" | null;
  /** Weakest of what shows that the commands did what they were to do, likewise. */
  readonly assurance: "exit_code" | "report" | "report+canaries" | null;
  /** What those levels should give and the machine did not, a sentence each. */
  readonly missing: readonly (string)[];
  /** Everything that was made less strict. */
  readonly weakened: readonly (string)[];
}

/** What was recorded besides the output: `facts.json`, which exists only when it says something. */
export interface Facts {
  /** What the work was given. */
  readonly input?: Json;
  /** Seconds the work took. */
  readonly elapsed_s?: number | null;
  /** Exit code of the work. */
  readonly exit_code?: number | null;
  /** The calls of tools, in order. */
  readonly tools?: readonly (ToolCall)[] | null;
  /** Commit that the work started from. */
  readonly base?: string | null;
  /** Evidence recorded with the work. */
  readonly evidence?: readonly (Evidence)[] | null;
  /** How the output was read, where that was not the default. */
  readonly limits?: Limits | null;
}

/** What a text may be. */
export interface Limits {
  /** Size of the text in UTF-8, checked before anything else is done. */
  readonly max_bytes: number;
  /** Objects and arrays inside each other, 1 to 128; `[]` is one level. */
  readonly max_depth: number;
  /** Digits of an integer. */
  readonly max_digits: number;
  /** Of equal keys in one object the last counts, instead of a refusal. */
  readonly last_key_wins: boolean;
}

/** One recorded call of a tool, in the order of the calls. */
export interface ToolCall {
  /** The tool's name. */
  readonly name: string;
  /** The status the tool reported, as it stands. */
  readonly status?: Json;
}
