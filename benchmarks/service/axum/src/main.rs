//! What a small native server needs to answer `POST /verify`, to be timed against.
//!
//! verifier PORT THREADS
//!
//! It reads the request into types, finds the policy's hash, makes the output's digest, runs the
//! minimal check of the schema, makes the hash of the result and answers. It knows the policy
//! `vp.schema_only.v1` in its kernel form alone. It does no full check of the schema, refuses no
//! duplicate keys, keeps no replies, explains nothing and logs nothing.

use std::env;

use axum::body::Bytes;
use axum::http::{header, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use axum::Router;
use serde::{Deserialize, Serialize};
use serde_json::{to_vec, Value};
use sha2::{Digest, Sha256};

const PROVIDER_FAMILY: &str = "swarm-runtime";
const MODEL_ID: &str = "swarm-model-v1";
const POLICY_ID: &str = "vp.schema_only.v1";
const POLICY_HASH: &str = "a52d250d216f425973eb5a13c392d4dbc172357181b683e86caa4a5c64db94a7";

#[derive(Deserialize)]
struct Question {
    candidate: Candidate,
    output_schema: Value,
    policy: Policy,
}

#[derive(Deserialize)]
struct Candidate {
    candidate_id: String,
    execution_id: String,
    output_ref: Artifact,
    output: Value,
    evidence_inline: Vec<Inline>,
    evidence_refs: Vec<Artifact>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Artifact {
    uri: String,
    digest: String,
    size_bytes: u64,
    mime: String,
    created_at: u64,
    producer: String,
}

#[derive(Deserialize)]
struct Inline {
    mime: String,
    content: String,
}

#[derive(Deserialize)]
struct Policy {
    policy_id: String,
    policy_version: String,
    policy_hash: String,
    #[allow(dead_code)]
    policy_params: Value,
}

/// What is hashed, its members in the order of their names.
#[derive(Serialize)]
struct Hashed<'a> {
    candidate_id: &'a str,
    execution_id: &'a str,
    model_id: &'a str,
    passed: bool,
    policy_hash: &'a str,
    provider_family: &'a str,
    reason_codes: &'a [u16],
    score: f64,
}

#[derive(Serialize)]
struct Reply<'a> {
    passed: bool,
    score: f64,
    reason_codes: &'a [u16],
    verification_status: &'a str,
    verifier_result_hash: String,
    provider_family: &'a str,
    model_id: &'a str,
}

async fn verify(body: Bytes) -> Response {
    match serde_json::from_slice::<Question>(&body) {
        Ok(question) => answer(&question),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

fn answer(question: &Question) -> Response {
    let (candidate, policy) = (&question.candidate, &question.policy);
    let bound = policy.policy_id == POLICY_ID
        && policy.policy_version == "1"
        && policy.policy_hash.eq_ignore_ascii_case(POLICY_HASH);
    if !bound {
        return (StatusCode::BAD_REQUEST, "policy binding invalid").into_response();
    }
    let mut codes = vec![if accepts(&question.output_schema, &candidate.output) { 100 } else { 101 }];
    let output = to_vec(&candidate.output).expect("a value");
    let digest = format!("sha256:{}", hex(&output));
    if digest != candidate.output_ref.digest || output.len() as u64 != candidate.output_ref.size_bytes {
        codes.push(203);
    }
    if !(candidate.evidence_refs.is_empty() && candidate.evidence_inline.iter().all(is_sound)) {
        codes.push(999);
    }
    let passed = codes == [100];
    let score = if passed { 1.0 } else { 0.0 };
    let hashed = Hashed {
        candidate_id: &candidate.candidate_id,
        execution_id: &candidate.execution_id,
        model_id: MODEL_ID,
        passed,
        policy_hash: &policy.policy_hash,
        provider_family: PROVIDER_FAMILY,
        reason_codes: &codes,
        score,
    };
    let reply = Reply {
        passed,
        score,
        reason_codes: &codes,
        verification_status: if passed { "passed" } else { "failed" },
        verifier_result_hash: hex(&to_vec(&hashed).expect("a value")),
        provider_family: PROVIDER_FAMILY,
        model_id: MODEL_ID,
    };
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, to_vec(&reply).expect("a value")).into_response()
}

fn is_sound(inline: &Inline) -> bool {
    match inline.mime.as_str() {
        "text/plain" => inline.content.len() <= 65_536,
        "application/json" => serde_json::from_str::<Value>(&inline.content).is_ok(),
        _ => false,
    }
}

/// `type`, `required`, and the types of `properties`, one level deep.
fn accepts(schema: &Value, output: &Value) -> bool {
    let Some(schema) = schema.as_object() else {
        return false;
    };
    if !has_type(schema.get("type"), output) {
        return false;
    }
    if let Some(required) = schema.get("required").and_then(Value::as_array) {
        let Some(members) = output.as_object() else {
            return false;
        };
        if !required.iter().filter_map(Value::as_str).all(|name| members.contains_key(name)) {
            return false;
        }
    }
    match (schema.get("properties").and_then(Value::as_object), output.as_object()) {
        (Some(properties), Some(members)) => properties.iter().all(|(name, subschema)| {
            members.get(name).is_none_or(|member| has_type(subschema.get("type"), member))
        }),
        _ => true,
    }
}

fn has_type(name: Option<&Value>, value: &Value) -> bool {
    match name.and_then(Value::as_str) {
        None => true,
        Some("object") => value.is_object(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("null") => value.is_null(),
        Some(_) => false,
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn main() {
    let mut arguments = env::args().skip(1);
    let port: u16 = arguments.next().and_then(|text| text.parse().ok()).expect("a port");
    let threads = arguments.next().and_then(|text| text.parse().ok()).expect("a number of threads");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("a free port");
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let app = Router::new().route("/verify", post(verify));
        axum::serve(listener, app).await.expect("a server");
    });
}
