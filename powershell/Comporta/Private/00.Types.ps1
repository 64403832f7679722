# The type of the failures. It stands in a file of its own, loaded first.

# A failure that the service or the way to it answered with. What a script may decide on is Code; the message is for people.
class DataGatewayException : System.Exception {
    # Code names the kind of failure, in the service's word.
    [string] $Code
    # StatusCode is the HTTP status, 0 when there was no answer.
    [int] $StatusCode = 0
    [string] $ReasonPhrase
    # RequestId finds the request in the service's log.
    [string] $RequestId
    [string] $RequestMethod
    [string] $RequestUri
    # ResponseDate is the answer's Date header.
    [string] $ResponseDate
    # ResponseBody is the answer as it came; it holds no secret.
    [string] $ResponseBody
    # RetryAfterSeconds says when trying again makes sense; 0 when it is not known.
    [int] $RetryAfterSeconds = 0

    DataGatewayException([string] $code, [string] $message) : base($message) { $this.Code = $code }
    DataGatewayException([string] $code, [string] $message, [System.Exception] $inner) : base($message, $inner) { $this.Code = $code }
}
