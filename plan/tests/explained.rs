//! What plans will do, in words: whole texts.

use volley_plan::parse;

const TABLE: &str = include_str!("explained.txt");

#[test]
fn plans_say_what_they_will_do() {
    let cases: Vec<_> = TABLE.split("=== ").skip(1).collect();
    for case in &cases {
        let (name, case) = case.split_once('\n').expect("a name in a line of its own");
        let (text, expected) = case.split_once("\n--->\n").expect("an arrow between plan and words");
        let plan = parse(text).unwrap_or_else(|faults| panic!("{name}: {faults}"));
        let explained = plan.explained();
        assert_eq!(explained.trim_end(), expected.trim_end(), "{name}:\n{explained}");
    }
    assert!(cases.len() >= 4, "the table has lost its cases");
}

#[test]
fn many_stages_are_cut_short() {
    let plan =
        "target: http://h\nload:\n  stages: [{ steps: { from: 1/s, to: 100/s, by: 1/s, every: 1s } }]\n";
    let text = parse(plan).expect("a plan").explained();
    assert!(text.contains("at 19 s: 20/s for 1 s: 20 requests\n             and 80 stages more\n"), "{text}");
}
