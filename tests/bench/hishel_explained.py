"""Why our core and hishel's decide differently: the first pattern that matches a difference explains it.

A difference reads `QUESTION: CAUSE: ours ANSWER, hishel ANSWER`. Sections are those of RFC 9111.
"""

_UNREADABLE = r'(max-age = 60|max-age|max-age=-1|max-age=6\.5|max-age="60"|MAX-AGE=60)( and |:)'

EXPLANATIONS = (
    # Whether a response is stored.
    (r"stored: method:",
     "hishel keeps answers to HEAD too, for later HEADs. Here they renew the copy of the GET (4.3.5)."),
    (r"stored: .*(no-store|must-understand): ours yes",
     "must-understand lifts no-store where the status is understood (5.2.2.3). hishel does not read it."),
    (r"stored: not-understood:",
     "must-understand forbids to store a status that is not understood (5.2.2.3). hishel does not read it."),
    (r"stored: vary-star:", "Of a response with `Vary: *` no use can ever be made (4.1)."),
    (r"stored: set-cookie:", "Set-Cookie is kept only where the origin gave a lifetime: sites forget `private`."),
    (r"stored: status:", "416 and 429 are never kept: no key holds the Range, and RFC 6585 4 forbids it."),
    (r"stored: (request|partial):",
     "The answer to a precondition, or to a request for a part, may be another than to a plain GET."),
    (r"stored: request-no-store:", "no-store in a request forbids to store (5.2.1.5). hishel reads it in none."),
    (r"stored: connection-option:",
     "Connection takes away Cache-Control, without which the copy would be misread. hishel does not read its options."),
    (r"stored: private:", "Of several `private`, hishel takes the last; here the one that restricts most."),
    (rf"stored: .*({_UNREADABLE}|max-age=60|max-age=0|s-maxage)",
     "A lifetime that cannot be read is one, of 0 s: the copy can be validated. To hishel there is none."),
    # What a later request gets.
    (r"second request: .*Range.*hishel new|second request: .*: ours (copy|validation), hishel new",
     "hishel sends requests for a part on. Here the part is cut from the copy, once that is current."),
    (r"second request: .*If-Match", "If-Match is for the origin to evaluator (4.3.2). hishel does not look at it."),
    (r"second request: .*max-stale", "The client takes stale copies: max-stale (5.2.1.2). hishel does not read it."),
    (r"second request: (second request Cache-Control: (max-age|min-fresh)[^:]*): ours validation",
     "max-age and min-fresh of a request (5.2.1). hishel reads only its no-cache."),
    (r"second request: second request Pragma", "`Pragma: no-cache` of a request, without Cache-Control, counts (5.4)."),
    (r"second request: (second )?request (Cookie|Authorization): ours validation",
     "Where a credential is in play there is no guessed lifetime: sites forget `private`."),
    (r"second request: .*ours new, hishel copy",
     "Encoded content answers only clients that take the coding, also where the origin forgot to say Vary."),
    (r"second request: .*ours new, hishel validation",
     "No variant matches. hishel asks with the validator of another, which 4.1 allows; here the request goes on."),
    (r"second request: .*(Accept-|Vary).*ours copy",
     "Fields that Vary names match if they mean the same (4.1). hishel compares them to the byte."),
    (r"second request: .*stale-while-revalidate.*ours copy",
     "stale-while-revalidate: served at once, and validated in the background (RFC 5861 3). hishel does not read it."),
    (r"second request: response Cache-Control: max-age=.*: ours copy",
     "Of two max-age the first counts (4.2.1). hishel takes the last."),
    (r"second request: response Age", "Age counts (4.2.3). hishel does not read it."),
    (r"second request: response Date",
     "Without a Date, or with one in the future or that cannot be read, hishel holds a copy for new whenever it looks; "
     "here its age counts from its receipt (4.2.3)."),
    (rf"second request: .*{_UNREADABLE}|second request: response (Expires|Cache-Control: s-maxage=60)",
     "A lifetime that cannot be read is 0 s (4.2.1). hishel goes on to Expires or to a guess, takes names of "
     "directives to the case, and reads dates that are none."),
    (r"second request: response Last-Modified: ours validation",
     "The guess: hishel takes a tenth of the time since Last-Modified at each look, so that it grows; here at receipt. "
     "And it guesses for each status, here for those that 4.2.2 allows."),
    (r"second request: .*no-cache", "Of several `no-cache`, hishel takes the last; here the one that restricts most."),
    # What a 304 does, and what it leaves.
    (r"304: .*ours copy as-it-was",
     "The 304 names other content than was asked about. It renews no copy (4.3.4). hishel asks again, or takes it "
     "for the copy's own where a date or tag that is none is equal by its letters; here the copy is served once more."),
    (r"304: .*ours copy dropped", "The 304 brings Set-Cookie to a copy without lifetime, which is then not kept."),
    (r"304: .*ours copy renewed", "A tag or date that cannot be read is none; the one copy asked about is meant."),
    (r"age after a 304", "Age is computed at each use. hishel keeps that of the response, beside its own."),
    (r"content-length after a 304", "A 304 has no content, and does not change the length of the copy's."),
    (r"content-type after a 304", "hishel keeps the old Content-Type, as 3.2 allows; here the 304 renews it."),
    (r"etag after a 304", "The copy keeps the tag under which its content came; none where Connection names it."),
    (r"set-cookie after a 304", "Of several `no-cache`, hishel takes the last, which leaves out this field."),
    (r"x-a after a 304", "Connection names the field, which is then for one hop (RFC 9110 7.6.1). hishel keeps it."),
)
